/** The result of an algorithm for one request. All durations are in microseconds. */
export interface Result {
  /** Whether the request is allowed. */
  readonly allowed: boolean;
  /** Permits left for this key, after the charge if the request was charged. */
  readonly remaining: number;
  /**
   * How long until the same request would be allowed if no other request arrives: 0 if it is allowed, `null` if
   * it never would be.
   */
  readonly retryAfter: number | null;
  /** How long until the full limit is available if no other request arrives. */
  readonly resetAfter: number;
  /** How long an allowed request must be delayed. */
  readonly delay: number;
  /** How long until one permit is available. Present if the request was charged and none remains. */
  readonly nextAfter?: number;
  /** The part of the subject, if all subjects of the rule share the limit. */
  readonly part?: SharePart;
}

/** The part that a subject has of a limit that all subjects of a rule share (`share`). */
export interface SharePart {
  /**
   * Permits per window that the subject gets whatever the others take: the part of its weight among the subjects that have
   * places, rounded down.
   */
  readonly guaranteed: number;
  /**
   * Permits beyond `guaranteed` that the subject has taken in the current window, since others did not use their parts.
   * Windows start at multiples of their length since the epoch.
   */
  readonly borrowed: number;
}

/** The result of `step`: with the state to store if the request is allowed; a denied request takes nothing. */
export type Step<State> = Denied | Allowed<State>;

/** The result of a denied request. */
export interface Denied extends Result {
  /** The request is denied. */
  readonly allowed: false;
  /** A state to store in which the request took nothing, but counts as asked. Absent if a denial changes no state. */
  readonly asked?: Next<unknown>;
}

/** The result of an allowed request, with the state to store if the request is charged. */
export interface Allowed<State> extends Result, Next<State> {
  /** The request is allowed. */
  readonly allowed: true;
}

/** A state to store. */
export interface Next<State> {
  /** The new state. */
  readonly state: State;
  /** Microseconds after which this state decides like an absent key, so that the store can delete it. */
  readonly expiresAfter: number;
  /** The names of the leases that were handed permits while they waited, besides the one that asked. */
  readonly granted?: readonly string[];
}

/** The numeric parameters of a rule, by name. All are integers; durations are in microseconds. */
export type Parameters = Readonly<Record<string, number>>;

/**
 * How long a request may wait for its permits, in microseconds: 0 allows no wait; `Infinity` charges any cost, as
 * debt if necessary.
 */
export type MaxWait = number;

/**
 * Identifies a charge, for a refund: the name of the lease or, for algorithms without leases, the instant at which
 * the charge expires (microseconds since the epoch; 0 if only the store has recorded it).
 */
export type Receipt = string | number;

/** An algorithm: its reference implementation as pure functions. The Lua file of its name returns equal results. */
export interface Algorithm<State = unknown, Given = Parameters> {
  /** Name, such as `gcra`. */
  readonly name: string;
  /** Version of the format of its states, in their keys: raised with every change of the format. */
  readonly version: number;
  /** Names of its parameters, in the order in which the Lua functions take them. */
  readonly parameters: readonly string[];
  /** Whether permits are held by name until they are released. */
  readonly leases?: boolean;
  /**
   * Decides one request without side effects.
   *
   * @param state the stored state; `undefined` for a fresh key
   * @param now microseconds since the epoch
   * @param cost requested permits; 0 takes none and always fits
   * @param maxWait how long the request may wait; 0 by default
   * @param lease the name under which the permits are held, for an algorithm with leases
   */
  step(
    state: State | undefined,
    now: number,
    cost: number,
    parameters: Given,
    maxWait?: MaxWait,
    lease?: string,
  ): Step<State>;
  /**
   * Refunds up to `cost` permits of a charge; a lease is released, or leaves the queue. Returns `undefined` if the
   * charge has expired. See docs/adr/0008-refunds.md.
   *
   * @param onlyLast refund only if no later request was charged
   */
  refund(
    state: State,
    now: number,
    cost: number,
    parameters: Given,
    receipt: Receipt,
    onlyLast: boolean,
  ): Next<State> | undefined;
  /**
   * Returns the state in which one subject has taken nothing, for an algorithm that keeps all subjects of a rule in one
   * state; `undefined` if the state does not have the subject. Absent: a reset deletes the state.
   */
  clear?(state: State, now: number, parameters: Given): Next<State> | undefined;
  /**
   * Whether the clock was set back since a state was written. The step of a request that takes nothing then returns the
   * state moved by the difference, which a store keeps even if the request is denied. Absent if no state can be ahead.
   */
  isAhead?(state: State, now: number, parameters: Given): boolean;
  /** Renews a lease. Returns `undefined` if it has ended. */
  renew?(state: State, now: number, parameters: Given, lease: string): Next<State> | undefined;
  /**
   * Returns the size of a state in the memory of this process: an integer from 1, one unit per 250 to 750 bytes of
   * heap, including the key.
   * @default 1
   */
  sizeOf?(state: State): number;
}
