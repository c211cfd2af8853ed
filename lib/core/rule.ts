import type { CalendarWindow } from '../algorithms/calendar-length.js';
import type { AlgorithmDefinition } from '../algorithms/definition.js';
import type { algorithms, AlgorithmName } from '../algorithms/registry.js';
import type { Duration } from '../contracts/duration.js';
import type { OnStoreError } from './on-store-error.js';

/** What every rule says, whatever its algorithm. */
export interface RuleBase {
  /**
   * Its name in decisions, headers and overrides: 1 to 64 printable ASCII characters.
   * @default 'default'
   */
  readonly name?: string;
  /** Permits a window: an integer from 0 (which denies everything) to 1,000,000,000. */
  readonly limit: number;
  /**
   * Permits that a hit takes: an integer from 0 (asks only) to 1,000,000,000.
   * @default 1
   */
  readonly cost?: number;
  /**
   * How long a denial blocks the subject, whatever the algorithm would say meanwhile. Asking while
   * blocked does not lengthen it. `'manual'`: only `limiter.block` does. Absent: nothing does.
   */
  readonly block?: Duration | 'manual';
  /**
   * `'observe'`: decides and reports, but never denies, and charges or blocks nothing but itself.
   * @default 'enforce'
   */
  readonly mode?: 'enforce' | 'observe';
  /**
   * `'instance'`: each process counts for itself, as if it were alone.
   * @default 'cluster'
   */
  readonly per?: 'cluster' | 'instance';
  /**
   * What to answer when the store fails or does not answer in time: `'allow'`, `'deny'`, or `'local'`, by
   * which this process counts for itself, with its part of the limit.
   * @default the limiter's `onStoreError`
   */
  readonly onStoreError?: OnStoreError;
  /**
   * Another limit to watch beside this one before it goes live: it is decided, told as a rule named
   * `<name>?`, and denies nothing.
   */
  readonly candidate?: Candidate;
}

/** How a candidate differs from the live rule. */
export interface Candidate {
  readonly limit?: number;
  readonly window?: Duration;
}

/** The length of time that a rule limits. */
export interface Windowed {
  /** The window, from 1 ms to 366 days: `'250ms' '10s' '1m' '1h' '1d' '1w'`. */
  readonly window: Duration;
}

/** The length of time, or the part of the calendar, that a rule limits. */
export interface CalendarWindowed {
  /**
   * The window, from 1 ms to 366 days: `'250ms' '10s' '1m' '1h' '1d' '1w'`; or a `'day'`, a `'week'` or a `'month'` of a time zone.
   */
  readonly window: Duration | CalendarWindow;
}

type Definitions = typeof algorithms;

type OptionsOf<Name extends AlgorithmName> =
  Definitions[Name] extends AlgorithmDefinition<infer Options, infer _State, infer _Parameter>
    ? Options
    : never;

/** The names of the algorithms for which `Trait` holds. */
type Having<Trait> = {
  [Name in AlgorithmName]: Definitions[Name] extends Trait ? Name : never;
}[AlgorithmName];

type LeaseName = Having<{ readonly leases: true }>;
type CalendarName = Having<{ readonly calendar: true }>;

/** The algorithm with the options that belong to it; those of another one do not compile. */
export type AlgorithmChoice =
  | { readonly algorithm?: undefined; readonly lease?: never }
  | Chosen<CalendarName>
  | (Chosen<Exclude<AlgorithmName, CalendarName>> & NoCalendar);

/** Whoever gives a window by a function is asked at run time. */
interface NoCalendar {
  readonly window?: Duration | object;
}

type Chosen<Name extends AlgorithmName> = {
  [Each in Name]: { readonly algorithm: Each } & OptionsOf<Each>;
}[Name];

type Choose<Name extends AlgorithmName> = RuleBase & Chosen<Name>;

/** The names of all algorithms' options. */
type OptionName = {
  [Name in AlgorithmName]: Exclude<keyof OptionsOf<Name>, 'window'>;
}[AlgorithmName];

/** A rule of the default algorithm: the options of others do not compile. */
type DefaultRule = Windowed &
  RuleBase & { readonly algorithm?: undefined } & Readonly<Partial<Record<OptionName, never>>>;

/** A rule of an algorithm that can say how long to wait for a place: the ones to `acquire` by. */
export type QueueRule = Windowed & Choose<Having<{ readonly queues: true }>>;

/** A rule of permits that are held and given back: the ones to `enter`. */
export type LeaseRule = Choose<LeaseName>;

/** One limit. Without `algorithm` it is a `sliding-window-log`, whose limit may be up to 10,000. */
export type AnyRule =
  | DefaultRule
  | (Windowed & Choose<Exclude<AlgorithmName, LeaseName | CalendarName>>)
  | (CalendarWindowed & Choose<CalendarName>)
  | LeaseRule;

/** A limit on what comes by, not on what is held: the ones to `consume`. */
export type Rule = Exclude<AnyRule, LeaseRule>;

/** A rule that can block. */
export type BlockingRule = AnyRule & { readonly block: Duration | 'manual' };

export const DEFAULT_RULE_NAME = 'default';
export const DEFAULT_ALGORITHM = 'sliding-window-log' satisfies AlgorithmName;
