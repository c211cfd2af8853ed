import type { AlgorithmDefinition, CalendarWindow } from '../algorithms/definition.js';
import type { algorithms, AlgorithmName } from '../algorithms/registry.js';
import type { Duration } from '../contracts/duration.js';

/**
 * The fallback, which decides while Redis cannot: `'local'` counts in the memory of each process, with its share
 * of the limit; `'allow'` allows the request and does not count it; `'deny'` denies it, over HTTP with a 503.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;

/** The name of a rule. Not an interface, which each type in a union would copy: editors show no documentation of copies. */
export type Named<Name extends string = string> = object & {
  /**
   * Name in decisions, headers and overrides: 1 to 64 printable ASCII characters, and no duration such as `1m`.
   * @default 'default'
   */
  readonly name?: Name;
};

/** The fields that are the same in rules of programs and of routes. */
export interface SharedFields {
  /**
   * What a permit counts, a word such as `'tokens'` or `'cents'`, in problem details, metrics and on the operations page.
   * Headers of the drafts have `'content-bytes'` only, which is registered.
   * @default 'requests'
   */
  readonly unit?: string;
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
   * A second limit that is evaluated and reported as the rule `<name>?`, but not enforced.
   * @default no trial limit
   */
  readonly trial?: Trial;
}

/** The fields that every rule of a program has, with any algorithm. */
interface RuleBase extends SharedFields {
  /** Permits per window: an integer from 0 to 1,000,000,000. 0 denies every request. */
  readonly limit: number;
  /**
   * Permits that a request takes: an integer from 0 to 1,000,000,000. 0 takes none.
   * @default 1
   */
  readonly cost?: number;
  /**
   * How long a denial blocks the subject. Requests during a block do not extend it. `'manual'`: only `block()`
   * blocks.
   * @default no block
   */
  readonly block?: Duration | 'manual';
  /**
   * Longest wait for permits, up to 366 days: of requests of a `concurrency` or `leaky-bucket` rule, of calls of a
   * provider's method, and of `acquire` and `hold`. On other handlers than methods of providers, rules of the other
   * algorithms cannot have it.
   * @default `acquire`: no limit; `leaky-bucket`: the delay of the last permit in a full queue; otherwise none
   */
  readonly maxWait?: Duration;
}

/** A field of rules whose permits are not held. */
export interface Alerting {
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

/** The fields of a rule with a window. */
interface Windowed extends Alerting {
  /**
   * Length of the window, from 1 ms to 366 days: `'250ms'`, `'10s'`, `'1m'`, `'1h'`, `'1d'`, `'1w'`. With `fixed-window`
   * also a calendar window: `'day'`, `'week'` or `'month'`.
   */
  readonly window: Duration;
}

/** The fields of a rule with a calendar window. */
interface CalendarWindowed extends Alerting {
  /** The calendar window in `timeZone`. */
  readonly window: CalendarWindow;
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

type Choice<Name> = object & {
  /**
   * The algorithm.
   * @default 'sliding-window-log'
   */
  readonly algorithm: Name;
};

/** The options whose rules have no alerts. */
type Unalerted = 'prefetch' | 'share';

/** No lone option or that one alone, and alerts without prefetch and share. */
type Exclusive<Option, Lone extends PropertyKey, OfUnalerted extends PropertyKey> =
  | None<Lone | OfUnalerted>
  | ([OfUnalerted] extends [never] ? never : None<Lone | 'alerts'>)
  | ([Lone] extends [never] ? never : None<Exclude<Option, Lone> & PropertyKey> & None<'alerts'>);

/**
 * An algorithm with its options. Options of other algorithms are excess properties: an editor would offer fields of type
 * `never`.
 */
type Chosen<Name extends AlgorithmName> = {
  [Each in Name]: Choice<Each> &
    OptionsOf<Each> &
    Exclusive<keyof OptionsOf<Each>, LoneOption<Each>, Extract<keyof OptionsOf<Each>, Unalerted>>;
}[Name];

/** The default algorithm, or one with a window. Options without their algorithm do not compile. */
export type WindowedChoice =
  ({ readonly algorithm?: undefined } & None<keyof AnyOptions>) | Chosen<Exclude<AlgorithmName, LeaseName>>;

/** The algorithm whose permits are held. */
export type LeaseChoice = Chosen<LeaseName>;

/** The fields that a rule whose permits are held does not have. */
export const NOT_OF_LEASES = ['window', 'settle', 'onError', 'alerts'] as const;

export type NotOfLeases = (typeof NOT_OF_LEASES)[number];

/** A rule for `hold`: its permits are held until they are released. */
export type ConcurrencyRule<Name extends string = string> = Named<Name> & RuleBase & LeaseChoice;

/**
 * A rule for `consume` and `acquire`: every algorithm except `concurrency`. Without `algorithm` it is a
 * `sliding-window-log`, with a limit of at most 10,000.
 */
export type Rule<Name extends string = string> = Named<Name> &
  RuleBase &
  ((Windowed & WindowedChoice) | (CalendarWindowed & Chosen<CalendarName>));

/** Any rule. */
export type AnyRule<Name extends string = string> = Rule<Name> | ConcurrencyRule<Name>;

/** A rule for `block`: it has the field `block`. */
export type BlockingRule = AnyRule & { readonly block: Duration | 'manual' };

export const DEFAULT_RULE_NAME = 'default';

export const DEFAULT_ALGORITHM = 'sliding-window-log' satisfies AlgorithmName;
