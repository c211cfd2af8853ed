import type { LuaModule } from './lua-module.js';

/** The result of an algorithm for one hit. All times are in microseconds. */
export interface Result {
  /** Whether the hit is allowed. */
  readonly allowed: boolean;
  /** Permits left for this key, after the hit if it was charged. */
  readonly remaining: number;
  /** How long until the same hit would be allowed if no other came: 0 if it is allowed, `null` if never. */
  readonly retryAfter: number | null;
  /** How long until the full limit is available if no other hit comes. */
  readonly resetAfter: number;
  /** How long an allowed hit must be delayed. */
  readonly delay: number;
}

/** The result of `step`. An allowed hit comes with the state to store if it is charged; a denied hit changes nothing. */
export type Step<State> = Denied | Allowed<State>;

/** The result of a denied hit. */
export interface Denied extends Result {
  /** The hit is denied. */
  readonly allowed: false;
}

/** The result of an allowed hit, with the state to store. */
export interface Allowed<State> extends Result, Next<State> {
  /** The hit is allowed. */
  readonly allowed: true;
}

/** The state to store. */
export interface Next<State> {
  /** The new state. */
  readonly state: State;
  /** Microseconds after which this state decides like an absent key, so that the store can delete it. */
  readonly expiresAfter: number;
}

/** A rule as the numbers of its algorithm, by name: integers. Windows are in microseconds. */
export type Parameters = Readonly<Record<string, number>>;

/**
 * How long a hit may wait for its permits, in microseconds: 0 allows no wait; `Infinity` charges any cost, as debt
 * if necessary.
 */
export type Patience = number;

/**
 * Identifies a charge for a refund: the name of the lease; for algorithms without leases the instant (microseconds
 * since the epoch) at which the charge expires, 0 if only the store knows it.
 */
export type Receipt = string | number;

/** An algorithm: its reference implementation as pure functions, and its Lua. Both decide alike, field by field. */
export interface Algorithm<State = unknown> {
  /** Name, such as `gcra`. */
  readonly name: string;
  /** Names of its parameters, in the order of the Lua functions. */
  readonly parameters: readonly string[];
  /** The Lua module: returns `{ step = …, … }`, see docs/adr/0002-one-script.md. */
  readonly lua: LuaModule;
  /** Whether permits are held by name until they are released. */
  readonly leases?: boolean;
  /**
   * Decides one hit without side effects.
   *
   * @param state the stored state; `undefined` for a fresh key
   * @param now microseconds since the epoch
   * @param cost requested permits; 0 takes none and always fits
   * @param patience how long the hit may wait; 0 unless given
   * @param lease the name under which the permits are held, for an algorithm with leases
   */
  step(
    state: State | undefined,
    now: number,
    cost: number,
    parameters: Parameters,
    patience?: Patience,
    lease?: string,
  ): Step<State>;
  /**
   * Refunds up to `cost` permits of a charge. Returns `undefined` if the charge has expired. See
   * docs/adr/0008-giving-back.md.
   *
   * @param onlyLast refund only if no later request was charged
   */
  refund(
    state: State,
    now: number,
    cost: number,
    parameters: Parameters,
    receipt: Receipt,
    onlyLast: boolean,
  ): Next<State> | undefined;
  /** Renews a lease. Returns `undefined` if it has ended. */
  renew?(state: State, now: number, parameters: Parameters, lease: string): Next<State> | undefined;
  /**
   * Size of a state in this process, an integer from 1: one for each 250 to 750 bytes of heap, its key included.
   * @default 1
   */
  sizeOf?(state: State): number;
}
