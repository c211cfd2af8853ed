import type { Algorithm, Allowed, Denied } from '../contracts/algorithm.js';
import type { Duration } from '../contracts/duration.js';
import type { OptionCheck } from '../contracts/options.js';

/** A calendar window: from the start to the end of a day, week or month in the rule's time zone. */
export type CalendarWindow = 'day' | 'week' | 'month';

/** Nominal length of a calendar window in microseconds: an actual day may have 23 hours, a month 31 days. */
export const NOMINAL_LENGTHS: Readonly<Record<CalendarWindow, number>> = {
  day: 86_400e6,
  week: 7 * 86_400e6,
  month: 30 * 86_400e6,
};

/** Whether a window is a calendar window. */
export function isCalendarWindow(value: unknown): value is CalendarWindow {
  return typeof value === 'string' && Object.hasOwn(NOMINAL_LENGTHS, value);
}

/** The fields of a rule that apply to every algorithm. */
export interface Quota {
  /** Permits, an integer from 0. */
  readonly limit: number;
  /** Microseconds: an integer from 1, the nominal length of a calendar window, or 0 for an algorithm with leases. */
  readonly window: number;
  /** The calendar window, if the rule has one. */
  readonly calendar?: CalendarWindow | undefined;
  /** Permits that a request takes by default. */
  readonly cost?: number;
  readonly maxWait?: Duration;
}

/** The parameters of an algorithm: integers, with durations in microseconds. */
export type Numbers<Parameter extends string> = Readonly<Record<Parameter, number>>;

/** A charge of prefetched permits. */
export interface TakenAhead {
  readonly permits: number;
  /** When they were charged, in microseconds since the epoch. */
  readonly now: number;
  /** Microseconds from `now` until the full limit of the key is available. */
  readonly resetAfter: number;
}

/** Returns the permits of one of several processes: at least 1 permit (0 of 0), so that no process denies everything. */
export function perProcess(permits: number, processes: number): number {
  return permits === 0 ? 0 : Math.max(1, Math.floor(permits / processes));
}

/**
 * The bound that a client cannot exceed, as far as the algorithm is exact: `limit` permits in any window; in each
 * window, and therefore up to twice as many around a boundary; a burst, and then `limit` permits per window; or
 * `limit` permits at a time.
 */
type Bound = 'any window' | 'each window' | 'rate' | 'at a time';

/** An example rule of an algorithm. Tests, benchmarks and tables are generated from the examples of all algorithms. */
export interface Example {
  /** The difference from the first example, such as `by the clock`; `''` for the first example. */
  readonly variant: string;
  /** The fields of the rule that differ from `{ algorithm, limit, window }`. */
  readonly rule: (quota: ExampleQuota) => Readonly<Record<string, unknown>>;
  /** Whether a new subject can take `limit` permits at once. @default true */
  readonly allAtOnce?: false;
  /** Whether the state grows with each permit. @default false */
  readonly keepsEntries?: true;
}

/** The limit and the window of an example. */
export interface ExampleQuota {
  readonly limit: number;
  /** Milliseconds. */
  readonly windowMs: number;
}

/** An algorithm with its own options: each algorithm folder exports one, and the registry lists all. */
export interface AlgorithmDefinition<
  Options extends object,
  State,
  Parameter extends string,
> extends Algorithm<State, Numbers<Parameter>> {
  readonly parameters: readonly Parameter[];
  /** The algorithm's own options, each with its check. */
  readonly options: { readonly [Name in keyof Required<Options>]: OptionCheck };
  /**
   * Returns what is wrong with a combination of options that are valid one by one; `undefined` if nothing is. Not
   * called for a limit of 0.
   */
  check?(rule: Quota & Options): string | undefined;
  /**
   * Returns what gives a state its meaning besides the algorithm and the window, as parts of its key: a rule with other
   * parts starts new counters. Absent if nothing does.
   */
  keyParts?(rule: Quota & Options): readonly (string | number)[];
  /** Returns the maximum number of permits that can be taken at once. Absent if that is the limit. */
  capacity?(parameters: Numbers<Parameter>): number;
  /**
   * Returns the options for one of several processes that share the rule, so that together they allow no more than
   * the rule. Absent if the limit is the only number of permits.
   */
  perProcess?(rule: Quota & Options, processes: number): Partial<Options>;
  /** Returns the parameters of a rule. */
  compile(rule: Quota & Options): Numbers<Parameter>;
  /**
   * Returns the parameters of each subject by its name and number, for an algorithm that keeps all subjects of a rule in
   * one state.
   * Absent if each subject has a state of its own.
   */
  bySubject?(rule: Quota & Options): (subject: string, number: number) => Partial<Numbers<Parameter>>;
  /**
   * Returns the parameters of a rule as a function of the current time, in microseconds since the epoch. Absent if
   * they do not depend on it.
   */
  compileAt?(rule: Quota & Options): (now: number) => Numbers<Parameter>;
  /** Returns the variant for a rule with these options; `undefined` if this algorithm evaluates the rule itself. */
  resolve?(rule: Quota & Options): Variant<Options> | undefined;
  /** Every variant that `resolve` returns. */
  readonly variants?: readonly Algorithm[];
  /**
   * Returns by when the nth (from 1) of some prefetched permits must be used, in microseconds since the epoch, so
   * that no more is allowed than if it were charged when it is used. Absent if permits cannot be prefetched.
   */
  spendBy?(nth: number, taken: TakenAhead, parameters: Numbers<Parameter>): number;
  /** The bound that a client cannot exceed. */
  readonly bound: Bound;
  /** Example rules, the simplest first. */
  readonly examples: readonly Example[];
  /** `false` if the algorithm estimates the permits used, so that a window may contain more than the limit. */
  readonly exact?: false;
  /** The option that cannot be combined with another one of the algorithm. */
  readonly lone?: string;
  /** Whether the algorithm can allow a request with a delay. */
  readonly queues?: boolean;
  /** Whether it delays the requests that it allows, up to `maxWait` of the rule. */
  readonly delays?: boolean;
  /** Whether the algorithm supports calendar windows. */
  readonly calendar?: boolean;
}

/**
 * Evaluates those rules of an algorithm that have certain options. A variant has its own name, state and Lua module,
 * and the options of the algorithm that the rule names.
 */
export type Variant<Options extends object, State = unknown, Parameter extends string = string> = Omit<
  AlgorithmDefinition<Options, State, Parameter>,
  'options' | 'resolve' | 'bound' | 'examples' | 'lone'
>;

/** Returns the result of a denied request. */
export function deny(remaining: number, retryAfter: number | null, resetAfter: number): Denied {
  return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
}

/** Returns the result of an allowed request, with the state to store. */
export function allow<State>(
  remaining: number,
  delay: number,
  resetAfter: number,
  state: State,
  expiresAfter: number,
): Allowed<State> {
  return { allowed: true, remaining, retryAfter: 0, resetAfter, delay, state, expiresAfter };
}

/** The result for a limit of 0, which denies every request. */
export const NEVER = deny(0, null, 0);
