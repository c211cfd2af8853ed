import type { CalendarWindow } from '../algorithms/calendar-length.js';
import type { AlgorithmDefinition } from '../algorithms/definition.js';
import type { algorithms, AlgorithmName } from '../algorithms/registry.js';
import type { Duration } from '../contracts/duration.js';

/**
 * The fallback, which decides while Redis cannot: `'local'` counts in the memory of each process, with its share
 * of the limit; `'allow'` allows the request and does not count it; `'deny'` denies it, over HTTP with a 503.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;

/** The fields that every rule has, with any algorithm. */
export interface RuleBase {
  /**
   * Name in decisions, headers and overrides: 1 to 64 printable ASCII characters.
   * @default 'default'
   */
  readonly name?: string;
  /** Permits per window: an integer from 0 to 1,000,000,000. 0 denies every request. */
  readonly limit: number;
  /**
   * Permits that a request takes: an integer from 0 to 1,000,000,000. 0 takes none.
   * @default 1
   */
  readonly cost?: number;
  /**
   * What a permit counts, a word such as `'tokens'` or `'cents'`, in problem details, metrics and on the operations page.
   * Headers of the drafts have `'content-bytes'` only, which is registered.
   * @default 'requests'
   */
  readonly unit?: string;
  /**
   * How long a denial blocks the subject. Requests during a block do not extend it. `'manual'`: only `block()`
   * blocks.
   * @default no block
   */
  readonly block?: Duration | 'manual';
  /**
   * `'shadow'` evaluates and reports the rule without enforcing it. Only its own counter is charged.
   * @default 'enforce'
   */
  readonly mode?: 'enforce' | 'shadow';
  /**
   * `'instance'` gives each process its own counters; `'cluster'` shares them among all processes.
   * @default 'cluster'
   */
  readonly per?: 'cluster' | 'instance';
  /**
   * Fallback of this rule: what decides when Redis fails or does not reply within `timeout`.
   * @default `onStoreError` of the module or the limiter
   */
  readonly onStoreError?: OnStoreError;
  /**
   * Longest wait for permits, up to 366 days: of requests of a `concurrency` or `leaky-bucket` rule, of calls of a
   * provider's method, and of `acquire` and `hold`. On other handlers than methods of providers, rules of the other
   * algorithms cannot have it.
   * @default `acquire`: no limit; `leaky-bucket`: the delay of the last permit in a full queue; otherwise none
   */
  readonly maxWait?: Duration;
  /**
   * A second limit that is evaluated and reported as the rule `<name>?`, but not enforced.
   * @default no trial limit
   */
  readonly trial?: Trial;
  /**
   * Fractions of the limit that emit the event `threshold` when a charge crosses them, once per window for all processes:
   * 1 to 8, above 0 and up to 1, which means that fewer permits are left than the request took. Not with `concurrency`,
   * `share` and `prefetch`.
   * @default none
   */
  readonly alerts?: readonly number[];
}

/** The fields in which a trial limit differs from its rule: one or both of them. */
interface Trial {
  /** Permits per window: an integer from 0 to 1,000,000,000. */
  readonly limit?: number;
  /** Length of the window. */
  readonly window?: Duration;
}

/** The field of a rule with a window. */
interface Windowed {
  /** Length of the window, from 1 ms to 366 days: `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`. */
  readonly window: Duration;
}

/** The field of a rule with a window, which may be a calendar window. */
interface CalendarWindowed {
  /**
   * Length of the window, from 1 ms to 366 days: `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`; or a calendar
   * window: `'day'`, `'week'`, `'month'`.
   */
  readonly window: Duration | CalendarWindow;
}

type Definitions = typeof algorithms;

/** The options of an algorithm. */
export type OptionsOf<Name extends AlgorithmName> =
  Definitions[Name] extends AlgorithmDefinition<infer Options, infer _State, infer _Parameter>
    ? Options
    : never;

/** The names of the algorithms that have a trait. */
type Having<Trait> = {
  [Name in AlgorithmName]: Definitions[Name] extends Trait ? Name : never;
}[AlgorithmName];

/** The names of the algorithms without a window, whose permits are held. */
export type LeaseName = Having<{ readonly leases: true }>;

/** The names of the algorithms with calendar windows. */
export type CalendarName = Having<{ readonly calendar: true }>;

/** The option of an algorithm that replaces all its others. */
export type LoneOption<Name extends AlgorithmName> = Definitions[Name] extends {
  readonly lone: infer Option extends keyof OptionsOf<Name>;
}
  ? Option
  : never;

type OptionName = { [Name in AlgorithmName]: keyof OptionsOf<Name> }[AlgorithmName];

/** The options of all algorithms. One that several algorithms have may have the values of each. */
export type AnyOptions = {
  readonly [Option in OptionName]?: {
    [Name in AlgorithmName]: Option extends keyof OptionsOf<Name> ? OptionsOf<Name>[Option] : never;
  }[AlgorithmName];
};

type None<Names extends PropertyKey> = Readonly<Partial<Record<Names, never>>>;

/** The options whose rules have no alerts. */
type Unalerted = 'prefetch' | 'share';

/** No window or a window, no lone option or that one alone, alerts without prefetch and share, and no options of other algorithms. */
type Chosen<Name extends AlgorithmName> = {
  [Each in Name]: { readonly algorithm: Each } & None<Exclude<keyof AnyOptions, keyof OptionsOf<Each>>> &
    (
      | (Omit<OptionsOf<Each>, LoneOption<Each> | Unalerted> & None<LoneOption<Each> | Unalerted>)
      | (Omit<OptionsOf<Each>, LoneOption<Each>> & None<LoneOption<Each> | 'alerts'>)
      | (Pick<OptionsOf<Each>, LoneOption<Each>> &
          None<Exclude<keyof OptionsOf<Each>, LoneOption<Each>> | 'alerts'>)
    );
}[Name];

type NoChoice = { readonly algorithm?: undefined } & None<keyof AnyOptions>;

/** The fields that a rule whose permits are held does not have. */
export const NOT_OF_LEASES = ['window', 'settle', 'onError', 'alerts'] as const;

export type NotOfLeases = (typeof NOT_OF_LEASES)[number];

/** An algorithm with its options. Options of other algorithms do not compile. */
export type AlgorithmChoice =
  NoChoice | Chosen<Exclude<AlgorithmName, LeaseName>> | (Chosen<LeaseName> & None<NotOfLeases>);

type Choose<Name extends AlgorithmName> = RuleBase & Chosen<Name>;

/** A rule of the default algorithm. Options of other algorithms do not compile. */
type DefaultRule = Windowed & RuleBase & NoChoice;

/** A rule for `hold`: its permits are held until they are released. */
export type ConcurrencyRule = Choose<LeaseName> & None<'window' | 'alerts'>;

/** Any rule. Without `algorithm` it is a `sliding-window-log`, with a limit of at most 10,000. */
export type AnyRule =
  | DefaultRule
  | (Windowed & Choose<Exclude<AlgorithmName, LeaseName | CalendarName>>)
  | (CalendarWindowed & Choose<CalendarName>)
  | ConcurrencyRule;

/** A rule for `consume` and `reserve`: every algorithm except `concurrency`. */
export type Rule = Exclude<AnyRule, ConcurrencyRule>;

/** A rule for `block`: it has the field `block`. */
export type BlockingRule = AnyRule & { readonly block: Duration | 'manual' };

export const DEFAULT_RULE_NAME = 'default';

export const DEFAULT_ALGORITHM = 'sliding-window-log' satisfies AlgorithmName;
