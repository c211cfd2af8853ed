/** What one algorithm says of one hit. All times are in microseconds. */
export interface Verdict {
  readonly allowed: boolean;
  /** Permits left for this key, after the hit if it was charged. */
  readonly remaining: number;
  /** How long until the same hit would be allowed if nobody else came: 0 if it is, `null` if never. */
  readonly retryAfter: number | null;
  /** How long until the key is back at its full limit if nobody comes. */
  readonly resetAfter: number;
}

/** A verdict that admits comes with what to store if the hit is charged; one that denies changes nothing. */
export type Step<State> = Denied | Admitted<State>;

export interface Denied extends Verdict {
  readonly allowed: false;
}

export interface Admitted<State> extends Verdict {
  readonly allowed: true;
  readonly retryAfter: 0;
  readonly state: State;
  /** From then on an absent key and this state decide alike, so the store may forget it. */
  readonly expiresAfter: number;
}

/** The numbers an algorithm works with, by name. Windows are in microseconds. */
export type Parameters = Readonly<Record<string, number>>;

/**
 * One way of limiting, told twice: as a pure function and as Lua. Both decide alike, field by field.
 */
export interface Algorithm<State = unknown> {
  /** The field's name for it, such as `gcra`. */
  readonly name: string;
  /** The names of its parameters, in the order in which the Lua function takes them. */
  readonly parameters: readonly string[];
  /** The Lua module: returns `{ step = …, save = … }`, see docs/adr/0002-one-script.md. */
  readonly lua: string;
  /** Lua that the module needs in front of it. */
  readonly prelude?: string;
  /**
   * Decides one hit without side effects that a discarded result could be noticed by.
   *
   * @param state what the store holds, `undefined` for a fresh key
   * @param now microseconds since the epoch
   * @param cost permits asked for; 0 asks for the figures only and always fits
   */
  step(state: State | undefined, now: number, cost: number, parameters: Parameters): Step<State>;
}
