/** What one algorithm says of one hit. All times are in microseconds. */
export interface Verdict {
  readonly allowed: boolean;
  /** Permits left for this key, after the hit if it was charged. */
  readonly remaining: number;
  /** How long until the same hit would be allowed if nobody else came: 0 if it is, `null` if never. */
  readonly retryAfter: number | null;
  /** How long until the key is back at its full limit if nobody comes. */
  readonly resetAfter: number;
  /** How long an allowed hit is to be held back before it goes on. */
  readonly delay: number;
}

/** A verdict that admits comes with what to store if the hit is charged; one that denies changes nothing. */
export type Step<State> = Denied | Admitted<State>;

export interface Denied extends Verdict {
  readonly allowed: false;
}

export interface Admitted<State> extends Verdict, Next<State> {
  readonly allowed: true;
}

/** What to store. */
export interface Next<State> {
  readonly state: State;
  /** In so many microseconds an absent key and this state decide alike: the store may forget it. */
  readonly expiresAfter: number;
}

/** The numbers an algorithm works with, by name: integers. Windows are in microseconds. */
export type Parameters = Readonly<Record<string, number>>;

/**
 * How long a hit may wait to be admitted, in microseconds: 0 is now or not at all, `Infinity` charges
 * whatever is asked for, as debt if it must.
 */
export type Patience = number;

/**
 * What a charge can be taken back by: for an algorithm with leases the lease's name, for any other the
 * instant (microseconds since the epoch) at which the charge would be gone by itself, or, of permits taken
 * ahead without a reply, the name of the take.
 */
export type Receipt = string | number;

/**
 * One way of limiting, told twice: as pure functions and as Lua. Both decide alike, field by field.
 */
export interface Algorithm<State = unknown> {
  /** The field's name for it, such as `gcra`. */
  readonly name: string;
  /** The names of its parameters, in the order in which the Lua functions take them. */
  readonly parameters: readonly string[];
  /** The Lua module: returns `{ step = …, … }`, see docs/adr/0002-one-script.md. */
  readonly lua: string;
  /** Lua that the module needs in front of it, and that others may need too: a script has it once. */
  readonly prelude?: string;
  /** Whether permits are held by name until they are given back. */
  readonly leases?: boolean;
  /**
   * Decides one hit without side effects that a discarded result could be noticed by.
   *
   * @param state what the store holds, `undefined` for a fresh key
   * @param now microseconds since the epoch
   * @param cost permits asked for; 0 asks for the figures only and always fits
   * @param patience how long the hit may wait; 0 unless given
   * @param lease the name under which the permits are held, if the algorithm has leases
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
   * Gives back up to `cost` permits of a charge; `undefined` if there is nothing to give back, since
   * the charge is gone already. See docs/adr/0008-giving-back.md.
   *
   * @param onlyLast give back only if nobody has been charged since
   */
  refund(
    state: State,
    now: number,
    cost: number,
    parameters: Parameters,
    receipt: Receipt,
    onlyLast: boolean,
  ): Next<State> | undefined;
  /** Lets a lease last anew; `undefined` if it is gone. */
  renew?(state: State, now: number, parameters: Parameters, lease: string): Next<State> | undefined;
  /**
   * How large a state is in this process, an integer from 1: one for each 250 to 750 bytes of heap, its key
   * included. Absent: always 1.
   */
  sizeOf?(state: State): number;
}
