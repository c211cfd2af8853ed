import { escaped, framesOf, messageOf } from '../contracts/shown.js';
import type { Decision } from '../contracts/decision.js';
import { didYouMean, quoted, rejectValue } from '../contracts/rate-limit-config.error.js';
import { oneOf, readOptions, type OptionCheck } from '../contracts/options.js';
import type { StoreChange } from '../contracts/base-store.js';
import { storeFaultOf, type StoreCall, type StoreFault } from '../contracts/store-fault.js';
import { callSafely } from '../contracts/thenable.js';
import type { CompiledRule, RuleHit } from '../rules/compiled-rule.js';
import { subjectForPrograms, type EventSubject, type Subject } from '../rules/subject.js';
import type { BlockOptions } from './rate-limiter.options.js';
import type { ServerStates } from './server-state.js';

/** A request was decided. */
export interface DecisionEvent<Context = unknown> {
  /** The decision. */
  readonly decision: Decision;
  /** The subjects, one per result in `decision.decisions`; `''` for a request that was denied without being counted. */
  readonly subjects: readonly EventSubject[];
  /** Milliseconds that the decision took, the call to the store included. */
  readonly durationMs: number;
  /** The `ExecutionContext` of the request; absent for an operation of a program. */
  readonly context?: Context | undefined;
}

/** A charge has crossed a threshold of a rule. */
export interface ThresholdEvent {
  /** Name of the rule. */
  readonly rule: string;
  /** The fraction in `alerts` of the rule. */
  readonly threshold: number;
  /** The subject, as operations of programs take it. */
  readonly subject: EventSubject;
  /** The limit, or the burst if the rule has one. */
  readonly limit: number;
  /** Permits left after the charge. */
  readonly remaining: number;
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
export interface RateLimitEventMap<Context = unknown> {
  /** Emitted for every decision, except those of `peek`, before the handler is called. */
  readonly decision: DecisionEvent<Context>;
  /** Emitted for every call that failed, or that the open circuit breaker stopped. */
  readonly storeError: StoreErrorEvent;
  /** Emitted when the circuit breaker of a server opens or closes. */
  readonly breaker: BreakerEvent;
  /**
   * Emitted when a heartbeat finds that a server, `''` for the only one, has lost data that it had confirmed: counters,
   * blocks and held permits start again.
   */
  readonly dataLost: { readonly server: string };
  /**
   * Emitted when a charge crosses a threshold in `alerts` of a rule: once per window for all processes, while Redis cannot
   * decide for each process.
   */
  readonly threshold: ThresholdEvent;
}

/** Receives every decision. It must not throw. */
export interface DecisionObserver {
  /** Receives the hits, one for each result; none for a request that was denied without being counted. */
  decided(hits: readonly RuleHit[], event: Omit<DecisionEvent, 'subjects'>): void;
  /** Receives the hits whose permits were refunded or released. */
  refunded(hits: readonly RuleHit[], decision: Decision): void;
  /** Receives the hits that an operation has blocked, for how many milliseconds, and its author. */
  blocked?(hits: readonly RuleHit[], ms: number, author: BlockOptions): void;
  /** Receives each threshold that a subject has crossed, as a fraction. */
  crossed?(rule: CompiledRule, subject: Subject, threshold: number): void;
}

/** A function that is called with every event of a name. It may be asynchronous. */
export type RateLimitListener<Name extends keyof RateLimitEventMap, Context = unknown> = (
  event: RateLimitEventMap<Context>[Name],
) => unknown;

const NO_FAULTS: ReadonlyMap<string, StoreFault> = new Map();
const LISTENER_OPTIONS = { only: oneOf('denied') } satisfies Record<string, OptionCheck>;

/**
 * Emits an event for every decision and for failures of the store. Events without a listener add no overhead.
 * `RateLimitEvents<ExecutionContext>` declares the context of the requests of an application.
 *
 * @example
 * events.on('decision', ({ decision, subjects }) => console.warn(decision.rule, subjects), { only: 'denied' });
 */
export class RateLimitEvents<Context = unknown> {
  private readonly listeners: { [Name in keyof RateLimitEventMap]: Set<RateLimitListener<Name, Context>> } = {
    decision: new Set(),
    storeError: new Set(),
    breaker: new Set(),
    dataLost: new Set(),
    threshold: new Set(),
  };
  private readonly ofDenials = new Set<RateLimitListener<'decision', Context>>();
  /** @internal Absent for a store of one process, which always decides. */
  servers: ServerStates | undefined;
  /** @internal Whether decisions have a listener. */
  followsDecisions = false;
  private observer: DecisionObserver | undefined;

  /**
   * Adds a listener for the events of a name. It is called synchronously and not awaited. If it throws or rejects, the
   * process emits a warning.
   *
   * @param options for `'decision'`, `{ only: 'denied' }` leaves out requests that are allowed
   * @returns a function that removes the listener
   * @throws RateLimitConfigError if the event or an option is unknown, or the listener is not a function
   */
  on<Name extends keyof RateLimitEventMap>(
    name: Name,
    listener: RateLimitListener<Name, Context>,
    ...[options]: Name extends 'decision' ? [options?: { readonly only?: 'denied' | undefined }] : []
  ): () => void {
    checkListener(Object.keys(this.listeners), name, listener);
    const given = name === 'decision' ? readOptions('on', options, LISTENER_OPTIONS) : {};
    const listeners = (given.only ? this.ofDenials : this.listeners[name]) as Set<unknown>;
    listeners.add(listener);
    this.follow();
    return () => {
      listeners.delete(listener);
      this.follow();
    };
  }

  /** The servers whose circuit breaker is open: the last error by address. */
  get openCircuits(): ReadonlyMap<string, StoreFault> {
    return this.servers?.faults(({ open }) => open) ?? NO_FAULTS;
  }

  /**
   * The servers that cannot decide, or failed to decide a request in the last ten seconds: the last error by address.
   * A server whose circuit breaker has closed since is not among them, unless the breaker is flapping.
   */
  get faults(): ReadonlyMap<string, StoreFault> {
    return this.servers?.faults(({ fault }) => fault) ?? NO_FAULTS;
  }

  /** Whether a circuit breaker opened three times, each within ten seconds, and has opened or closed in the last ten. */
  isFlapping(server: string): boolean {
    return this.servers?.isFlapping(server) === true;
  }

  /** @internal Sets the only observer of decisions; `undefined` removes it. Returns whether there was none. */
  observe(observer: DecisionObserver | undefined): boolean {
    const isFirst = this.observer === undefined;
    this.observer = observer;
    this.follow();
    return isFirst;
  }

  /** @internal A request that was denied without being counted has no hits. */
  decided(hits: readonly RuleHit[], event: Omit<DecisionEvent<Context>, 'subjects'>): void {
    this.observer?.decided(hits, event);
    const { decision } = this.listeners;
    const denied = event.decision.allowed ? undefined : this.ofDenials;
    if (decision.size + (denied?.size ?? 0) === 0) return;
    const subjects = hits.length > 0 ? hits.map(({ subject }) => subjectForPrograms(subject)) : [''];
    for (const listeners of [decision, denied ?? []]) {
      for (const listener of listeners) callSafely(listener, { ...event, subjects }, warn);
    }
  }

  /** @internal */
  refunded(hits: () => readonly RuleHit[], decision: Decision): void {
    this.observer?.refunded(hits(), decision);
  }

  /** @internal */
  blocked(hits: readonly RuleHit[], ms: number, author: BlockOptions): void {
    this.observer?.blocked?.(hits, ms, { ...author, by: author.by ?? 'a program' });
  }

  /** @internal Returns whether the event has a listener. */
  storeFailed(error: unknown, call: StoreCall): boolean {
    const fault = storeFaultOf(error);
    if (call === 'decision') this.servers?.of(fault.server).failed(fault);
    this.emit('storeError', { error: fault, call });
    return this.listeners.storeError.size > 0;
  }

  /** @internal Returns whether the failures of the store have a listener. */
  storeChanged({ server, error }: StoreChange): boolean {
    const fault = error === undefined ? undefined : storeFaultOf(error);
    const wasOpen = this.servers?.of(server).changed(fault);
    if (fault && wasOpen) return true;
    this.emit('breaker', { state: fault ? 'open' : 'closed', server, error: fault });
    return this.listeners.breaker.size + this.listeners.storeError.size > 0;
  }

  /** @internal */
  dataLost(server: string): void {
    this.emit('dataLost', { server });
  }

  /** @internal */
  crossed(rule: CompiledRule, subject: Subject, threshold: number, remaining: number): void {
    this.observer?.crossed?.(rule, subject, threshold);
    if (this.listeners.threshold.size === 0) return;
    const { name, capacity: limit } = rule;
    this.emit('threshold', { rule: name, threshold, subject: subjectForPrograms(subject), limit, remaining });
  }

  private follow(): void {
    const { listeners, ofDenials, observer } = this;
    this.followsDecisions = observer !== undefined || listeners.decision.size + ofDenials.size > 0;
  }

  private emit<Name extends Exclude<keyof RateLimitEventMap, 'decision'>>(
    name: Name,
    event: RateLimitEventMap<Context>[Name],
  ): void {
    for (const listener of this.listeners[name]) callSafely(listener, event, warn);
  }
}

/** @throws RateLimitConfigError if a listener would never be called */
function checkListener(names: readonly string[], name: unknown, listener: unknown): void {
  if (!names.includes(name as string)) {
    rejectValue('event', name, quoted(names), didYouMean(String(name), names));
  }
  if (typeof listener === 'function') return;
  rejectValue(`the listener of "${String(name)}"`, listener, 'a function of the event');
}

/** Emits a process warning with the error of a listener or of a meter. */
export function warn(error: unknown): void {
  const message = `A listener of RateLimitEvents or a meter failed: ${escaped(messageOf(error))}`;
  // As text: Node accepts no error of another realm, such as those of a test in Jest.
  process.emitWarning(message, { detail: framesOf(error) });
}
