import { shown } from '../contracts/shown.js';
import type { Decision } from '../contracts/decision.js';
import { didYouMean } from '../contracts/nearest.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { StoreChange } from '../contracts/store.js';
import { storeFaultOf, type StoreCall, type StoreFault } from '../contracts/store-fault.js';
import { callSafely } from '../contracts/thenable.js';
import type { RuleHit } from '../rules/rule-hit.js';
import type { EventSubject } from '../rules/subject-digest.js';
import { ServerStates } from './server-state.js';

/** A request was decided. */
export interface DecisionEvent {
  /** The decision. */
  readonly decision: Decision;
  /** The subjects, one per result in `decision.decisions`; `''` for a request that was denied without being counted. */
  readonly subjects: readonly EventSubject[];
  /** Milliseconds that the decision took, the call to the store included. */
  readonly durationMs: number;
}

/** A call to the store failed. */
export interface StoreErrorEvent {
  /** The error. An error of a custom store is its `cause`. */
  readonly error: StoreFault;
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
  readonly error: StoreFault | undefined;
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
  /**
   * Emitted when a heartbeat finds that a server, `''` for the only one, has lost data that it had confirmed: counters,
   * blocks and held permits start again.
   */
  readonly dataLost: { readonly server: string };
}

/** Receives every decision. It must not throw. */
export interface DecisionObserver {
  /** Receives the hits, one for each result; none for a request that was denied without being counted. */
  decided(hits: readonly RuleHit[], decision: Decision, durationMs: number): void;
  /** Receives the hits whose permits were refunded or released. */
  refunded(hits: readonly RuleHit[], decision: Decision): void;
}

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
    dataLost: new Set(),
  };
  private readonly servers = new ServerStates();
  /**
   * Whether decisions have a listener.
   *
   * @internal
   */
  followsDecisions = false;
  private observer: DecisionObserver | undefined;

  /**
   * Adds a listener for the events of a name. The listener is not awaited. If it throws or rejects, the
   * process emits a warning.
   *
   * @returns a function that removes the listener
   * @throws RateLimitConfigError if the event is unknown, or the listener is not a function
   */
  on<Name extends keyof RateLimitEventMap>(name: Name, listener: RateLimitListener<Name>): () => void {
    checkListener(Object.keys(this.listeners), name, listener);
    this.listeners[name].add(listener);
    this.follow();
    return () => this.off(name, listener);
  }

  /** The servers whose circuit breaker is open: the last error by address. */
  get openCircuits(): ReadonlyMap<string, StoreFault> {
    return this.servers.faults(({ open }) => open);
  }

  /**
   * The servers that cannot decide, or failed to decide a request in the last ten seconds: the last error by address.
   * A server whose circuit breaker has closed since is not among them, unless the breaker is flapping.
   */
  get faults(): ReadonlyMap<string, StoreFault> {
    return this.servers.faults(({ fault }) => fault);
  }

  /** Whether the circuit breaker of a server is flapping: it opened three times, each within ten seconds of the last. */
  isFlapping(server: string): boolean {
    return this.servers.isFlapping(server);
  }

  /**
   * Sets the only observer of decisions; `undefined` removes it.
   *
   * @internal
   */
  observe(observer: DecisionObserver | undefined): void {
    this.observer = observer;
    this.follow();
  }

  /** @internal */
  decided(event: DecisionEvent, hits: readonly RuleHit[] = []): void {
    this.observer?.decided(hits, event.decision, event.durationMs);
    this.emit('decision', event);
    if (!event.decision.allowed) this.emit('denied', event);
  }

  /** @internal */
  refunded(hits: () => readonly RuleHit[], decision: Decision): void {
    this.observer?.refunded(hits(), decision);
  }

  /** @internal */
  storeFailed(error: unknown, call: StoreCall): void {
    const fault = storeFaultOf(error);
    if (call === 'decision') this.servers.of(fault.server).failed(fault);
    this.emit('storeError', { error: fault, call });
  }

  /** @internal */
  storeChanged({ server, error }: StoreChange): void {
    const state = this.servers.of(server);
    const wasOpen = state.open !== undefined;
    const fault = error === undefined ? undefined : storeFaultOf(error);
    if (fault) state.opened(fault);
    else state.closed();
    if (fault && wasOpen) return;
    this.emit('breaker', { state: fault ? 'open' : 'closed', server, error: fault });
  }

  /** @internal */
  dataLost(server: string): void {
    this.emit('dataLost', { server });
  }

  private off<Name extends keyof RateLimitEventMap>(name: Name, listener: RateLimitListener<Name>): void {
    this.listeners[name].delete(listener);
    this.follow();
  }

  private follow(): void {
    const { decision, denied } = this.listeners;
    this.followsDecisions = this.observer !== undefined || decision.size + denied.size > 0;
  }

  private emit<Name extends keyof RateLimitEventMap>(name: Name, event: RateLimitEventMap[Name]): void {
    for (const listener of this.listeners[name]) {
      callSafely(listener, event, warn);
    }
  }
}

/** @throws RateLimitConfigError if a listener would never be called */
function checkListener(names: readonly string[], name: unknown, listener: unknown): void {
  if (!names.includes(name as string)) {
    const allowed = names.map((each) => `"${each}"`).join(', ');
    const fix = didYouMean(String(name), names);
    throw new RateLimitConfigError([problem('event', name, allowed + fix)]);
  }
  if (typeof listener === 'function') return;
  throw new RateLimitConfigError([
    problem(`the listener of "${String(name)}"`, listener, 'a function of the event'),
  ]);
}

/** Emits a process warning with the error of a listener or of a meter. */
export function warn(error: unknown): void {
  process.emitWarning(
    error instanceof Error ? error : `A listener of RateLimitEvents or a meter failed: ${shown(error)}`,
  );
}
