import type { RouteRuleFields } from '../nest/rules/route-rule.js';
import type { AlgorithmName } from '../algorithms/registry.js';
import type { AnyOptions } from '../rules/rule.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { AUTHORSHIP, durationOption, oneOf, readOptions, type OptionCheck } from '../contracts/options.js';
import type { RuleChange } from '../contracts/rule-source.js';

type Value<Field> = Exclude<Field, (...args: never[]) => unknown>;

/**
 * The fields of a rule that can change while the application runs. Those that select requests and subjects (`by`, `scope`,
 * `count`, `skipIf`, `allowList` and others) belong to the code.
 */
export type LiveRuleFields = {
  readonly [Name in 'limit' | 'window' | 'cost']?: Value<RouteRuleFields[Name]>;
} & Pick<RouteRuleFields, 'block' | 'mode' | 'maxWait' | 'trial' | 'onStoreError' | 'plans'> &
  Partial<AnyOptions> & {
    /** The algorithm. Another algorithm starts new counters. */
    readonly algorithm?: AlgorithmName | undefined;
  };

/** Author and reason of a change. */
export interface UnsetOptions {
  /** Author of the change, for the history: 1 to 256 characters. */
  readonly by: string;
  /** Reason of the change, for the history: up to 1,024 characters. */
  readonly reason?: string;
  /**
   * The version of the live change that the author saw; 0 if there was none. With another version, the change is
   * rejected.
   *
   * @default any version
   */
  readonly version?: number;
}

/** Author, reason and duration of a change. */
export interface SetOptions extends UnsetOptions {
  /**
   * How long the change applies, from 1 ms to 366 days. Every process lifts it, by the time of the source.
   *
   * @default until it is removed
   */
  readonly expires?: Duration;
  /**
   * `'reset'` starts new counters, so that at most the sum of both limits is allowed around the change. Otherwise another
   * limit counts the permits that were consumed before; another window, `burst` or `queue` starts new counters by itself.
   *
   * @default consumed permits count
   */
  readonly inherit?: 'reset';
}

/** The check of the name of a person or program. */
export const AUTHOR: OptionCheck = { ...AUTHORSHIP.by, isRequired: true };

/** The checks of who ends a loss, and why. */
export const AUTHOR_OPTIONS = { ...AUTHORSHIP, by: AUTHOR };

/** The checks of the options of a change that is removed. */
export const UNSET_OPTIONS = {
  ...AUTHOR_OPTIONS,
  version: {
    allowed: 'an integer from 0: the version of the live rule, or 0 without one',
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  },
} satisfies Record<keyof UnsetOptions, OptionCheck>;

const SET_OPTIONS = {
  ...UNSET_OPTIONS,
  expires: durationOption,
  inherit: oneOf('reset'),
} satisfies Record<keyof SetOptions, OptionCheck>;

/** @throws RateLimitConfigError if an option is invalid */
export function readSetOptions(what: string, given: SetOptions): Omit<RuleChange, 'rule' | 'fields'> {
  const { expires, ...options } = readOptions(what, given, SET_OPTIONS);
  return { ...options, expiresInMs: expires && Math.ceil(parseDuration(expires)! / 1000) };
}
