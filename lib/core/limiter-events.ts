import { inspect } from 'node:util';
import type { Decision } from '../contracts/decision.js';
import type { StoreChange } from '../contracts/store.js';
import { callSafely } from '../contracts/thenable.js';
import type { Subject } from './key.js';

/** A hit was decided. */
export interface DecisionEvent {
  readonly decision: Decision;
  /** Who was counted, one for each of `decision.decisions`; `''` where a request was refused uncounted. */
  readonly subjects: readonly Subject[];
  /** How long it took, the store's answer included. */
  readonly durationMs: number;
}

/** The store did not answer a call; the fallback decided in its place. */
export interface StoreErrorEvent {
  readonly error: unknown;
}

/** The store's circuit breaker opened or closed. */
export interface BreakerEvent {
  readonly state: 'open' | 'closed';
  /** The address of the server, `''` where there is only one. */
  readonly server: string;
  /** Why it opened. */
  readonly error: unknown;
}

/** What a limiter tells, by name. */
export interface RateLimitEventMap {
  readonly decision: DecisionEvent;
  readonly denied: DecisionEvent;
  readonly storeError: StoreErrorEvent;
  readonly breaker: BreakerEvent;
}

const RECENT_MS = 10_000;

type Listener<Name extends keyof RateLimitEventMap> = (event: RateLimitEventMap[Name]) => unknown;

/** Tells whoever listens what a limiter decides and how its store is. What nobody listens to costs nothing. */
export class RateLimitEvents {
  private readonly listeners: { [Name in keyof RateLimitEventMap]: Set<Listener<Name>> } = {
    decision: new Set(),
    denied: new Set(),
    storeError: new Set(),
    breaker: new Set(),
  };
  private readonly errors = new Map<string, unknown>();
  private failure: { readonly error: unknown; readonly at: number } | undefined;

  /**
   * Calls a listener at every event of a name. It may be asynchronous, and is not awaited. An error that it
   * throws or rejects with becomes a warning of the process and changes nothing.
   *
   * @returns takes the listener off again
   */
  on<Name extends keyof RateLimitEventMap>(name: Name, listener: Listener<Name>): () => void {
    this.listeners[name].add(listener);
    return () => void this.listeners[name].delete(listener);
  }

  /** Why each server whose circuit is open is not asked, by its address. */
  get openCircuits(): ReadonlyMap<string, unknown> {
    return this.errors;
  }

  /** Whether anybody wants to know of decisions. */
  get followsDecisions(): boolean {
    return this.listeners.decision.size > 0 || this.listeners.denied.size > 0;
  }

  decided(event: DecisionEvent): void {
    this.emit('decision', event);
    if (!event.decision.allowed) this.emit('denied', event);
  }

  /** Why the store could not decide in the last seconds; `undefined` if it could. */
  get recentFailure(): unknown {
    const { failure } = this;
    return failure && performance.now() - failure.at < RECENT_MS ? failure.error : undefined;
  }

  storeFailed(error: unknown): void {
    this.failure = { error, at: performance.now() };
    this.emit('storeError', { error });
  }

  storeChanged({ server, error }: StoreChange): void {
    if (error === undefined) {
      this.errors.delete(server);
      this.failure = undefined;
    } else this.errors.set(server, error);
    this.emit('breaker', { state: error === undefined ? 'closed' : 'open', server, error });
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
