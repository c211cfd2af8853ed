import { inspect } from 'node:util';
import type { Decision } from '../contracts/decision.js';
import type { StoreChange } from '../contracts/store.js';
import type { StoreCall } from '../contracts/store-fault.js';
import { callSafely } from '../contracts/thenable.js';
import type { Subject } from '../rules/key.js';

/** A request was decided. */
export interface DecisionEvent {
  /** The decision. */
  readonly decision: Decision;
  /** The subjects, one per result in `decision.decisions`; `''` for a request that was denied without being counted. */
  readonly subjects: readonly Subject[];
  /** Milliseconds that the decision took, the call to the store included. */
  readonly durationMs: number;
}

/** A call to the store failed. */
export interface StoreErrorEvent {
  /** The error: a `StoreFault`, or the error reply of Redis. */
  readonly error: unknown;
  /** The purpose of the call. */
  readonly call: StoreCall;
}

/** The circuit breaker of a server opened or closed. */
export interface BreakerEvent {
  /** `'open'`: no calls are sent to the server; `'closed'`: it decides again. */
  readonly state: 'open' | 'closed';
  /** Address of the server; `''` for the only server. */
  readonly server: string;
  /** The error for which it opened; `undefined` when it closed. */
  readonly error: unknown;
}

/** The events of a limiter by name. */
export interface RateLimitEventMap {
  /** Emitted for every decision, except those of `peek`. */
  readonly decision: DecisionEvent;
  /** Emitted for every denial. */
  readonly denied: DecisionEvent;
  /** Emitted for every call that failed, or that the open circuit breaker stopped. */
  readonly storeError: StoreErrorEvent;
  /** Emitted when the circuit breaker of a server opens or closes. */
  readonly breaker: BreakerEvent;
}

const RECENT_MS = 10_000;

/** A function that is called with every event of a name. It may be asynchronous. */
export type RateLimitListener<Name extends keyof RateLimitEventMap> = (
  event: RateLimitEventMap[Name],
) => unknown;

/**
 * Emits an event for every decision and for failures of the store. Events without a listener add no overhead.
 *
 * @example
 * events.on('denied', ({ decision, subjects }) => console.warn(decision.rule, subjects));
 */
export class RateLimitEvents {
  private readonly listeners: { [Name in keyof RateLimitEventMap]: Set<RateLimitListener<Name>> } = {
    decision: new Set(),
    denied: new Set(),
    storeError: new Set(),
    breaker: new Set(),
  };
  private readonly errors = new Map<string, unknown>();
  /**
   * Whether decisions have a listener.
   *
   * @internal
   */
  followsDecisions = false;
  private failure: { readonly error: unknown; readonly at: number } | undefined;

  /**
   * Adds a listener for the events of a name. It is not awaited. If it throws or rejects, the error becomes a warning
   * of the process.
   *
   * @returns a function that removes the listener
   */
  on<Name extends keyof RateLimitEventMap>(name: Name, listener: RateLimitListener<Name>): () => void {
    this.listeners[name].add(listener);
    this.followsDecisions ||= name === 'decision' || name === 'denied';
    return () => this.off(name, listener);
  }

  /** The servers whose circuit breaker is open: the last error by address. */
  get openCircuits(): ReadonlyMap<string, unknown> {
    return this.errors;
  }

  /** @internal */
  decided(event: DecisionEvent): void {
    this.emit('decision', event);
    if (!event.decision.allowed) this.emit('denied', event);
  }

  /**
   * The error with which the store failed to decide a request in the last ten seconds; `undefined` if there is none,
   * or a circuit breaker has closed since.
   */
  get recentFailure(): unknown {
    const { failure } = this;
    return failure && performance.now() - failure.at < RECENT_MS ? failure.error : undefined;
  }

  /** @internal */
  storeFailed(error: unknown, call: StoreCall): void {
    if (call === 'decision') this.failure = { error, at: performance.now() };
    this.emit('storeError', { error, call });
  }

  /** @internal */
  storeChanged({ server, error }: StoreChange): void {
    const wasOpen = this.errors.has(server);
    if (error === undefined) {
      this.errors.delete(server);
      this.failure = undefined;
    } else this.errors.set(server, error);
    if (error !== undefined && wasOpen) return;
    this.emit('breaker', { state: error === undefined ? 'closed' : 'open', server, error });
  }

  private off<Name extends keyof RateLimitEventMap>(name: Name, listener: RateLimitListener<Name>): void {
    const { decision, denied } = this.listeners;
    this.listeners[name].delete(listener);
    this.followsDecisions = decision.size > 0 || denied.size > 0;
  }

  private emit<Name extends keyof RateLimitEventMap>(name: Name, event: RateLimitEventMap[Name]): void {
    for (const listener of this.listeners[name]) {
      callSafely(listener, event, warn);
    }
  }
}

/** Reports an error of a listener, or of a meter. */
export function warn(error: unknown): void {
  process.emitWarning(
    error instanceof Error ? error : `A listener of RateLimitEvents or a meter failed: ${inspect(error)}`,
  );
}
