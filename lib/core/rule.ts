import type { AlgorithmDefinition, OptionCheck, Quota } from '../algorithms/definition.js';
import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import type { Algorithm, Parameters } from '../contracts/algorithm.js';
import { toMilliseconds } from '../contracts/clock.js';
import { DURATION_ALLOWED, parseDuration, type Duration } from './duration.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';

/** What every rule says, whatever its algorithm. */
export interface RuleBase {
  /**
   * Its name in decisions, headers and overrides: 1 to 64 printable ASCII characters.
   * @default 'default'
   */
  readonly name?: string;
  /** Permits a window: an integer from 0 (which denies everything) to 1,000,000,000. */
  readonly limit: number;
  /** The window: milliseconds, or `'250ms' '10s' '1m' '1h' '1d' '1w'`; up to 366 days. */
  readonly window: Duration;
  /**
   * Permits that a hit takes: an integer from 0 (asks only) to 1,000,000,000.
   * @default 1
   */
  readonly cost?: number;
}

type OptionsOf<Name extends AlgorithmName> =
  (typeof algorithms)[Name] extends AlgorithmDefinition<infer Options, infer _State, infer _Parameter>
    ? Options
    : never;

/** The algorithm with the options that belong to it; those of another one do not compile. */
export type AlgorithmChoice =
  | { readonly algorithm?: undefined }
  | { [Name in AlgorithmName]: { readonly algorithm: Name } & OptionsOf<Name> }[AlgorithmName];

/** One limit. Without `algorithm` it is a `sliding-window-counter`. */
export type Rule = RuleBase & AlgorithmChoice;

/** A rule made ready for a store, once. */
export interface CompiledRule {
  readonly name: string;
  readonly algorithm: Algorithm;
  readonly parameters: Parameters;
  readonly cost: number;
  /** The most permits that can be had at once. */
  readonly capacity: number;
  /** The milliseconds in which they all come back. */
  readonly capacityWindowMs: number;
}

export const DEFAULT_RULE_NAME = 'default';
export const DEFAULT_ALGORITHM: AlgorithmName = 'sliding-window-counter';

const COUNT: OptionCheck = {
  allowed: 'an integer from 0 to 1000000000',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e9,
};

/** What the fields that every rule has may be. */
export const RULE_FIELDS = {
  name: {
    allowed: '1 to 64 printable ASCII characters',
    accepts: (value) => typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value),
  },
  algorithm: {
    allowed: Object.keys(algorithms)
      .map((name) => `"${name}"`)
      .join(', '),
    accepts: (value) => typeof value === 'string' && Object.hasOwn(algorithms, value),
  },
  limit: COUNT,
  window: { allowed: DURATION_ALLOWED, accepts: (value) => parseDuration(value) !== undefined },
  cost: COUNT,
} as const satisfies Record<string, OptionCheck>;

/** The definition of the rule's algorithm, with the types of its own options set aside. */
export function algorithmOf(name: string = DEFAULT_ALGORITHM): AlgorithmDefinition<object, unknown, string> {
  return algorithms[name as AlgorithmName] as AlgorithmDefinition<object, unknown, string>;
}

/**
 * Says everything that is wrong with a rule's fields.
 *
 * @param path what the messages call the rule, such as `rules.login`
 * @param fields what the rule may say besides its algorithm's options
 */
export function ruleProblems(
  path: string,
  rule: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, OptionCheck>> = RULE_FIELDS,
): string[] {
  const { algorithm } = rule;
  if (algorithm !== undefined && !RULE_FIELDS.algorithm.accepts(algorithm)) {
    return [problem(`${path}.algorithm`, algorithm, RULE_FIELDS.algorithm.allowed)];
  }
  const definition = algorithmOf(algorithm as string | undefined);
  const checks: Readonly<Record<string, OptionCheck>> = { ...fields, ...definition.options };
  const problems: string[] = [];
  for (const [field, value] of Object.entries(rule)) {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (!check) {
      problems.push(
        `${path}.${field}: no such option of ${definition.name}; allowed: ${Object.keys(checks).join(', ')}`,
      );
    } else if (value !== undefined && !check.accepts(value)) {
      problems.push(problem(`${path}.${field}`, value, check.allowed));
    }
  }
  for (const field of ['limit', 'window'] as const) {
    if (rule[field] === undefined)
      problems.push(`${path}.${field}: missing; allowed: ${RULE_FIELDS[field].allowed}`);
  }
  return problems;
}

/**
 * Makes a rule ready for a store.
 *
 * @throws RateLimitConfigError if the rule is wrong
 */
export function compileRule(rule: Rule, path = `rule "${rule.name ?? DEFAULT_RULE_NAME}"`): CompiledRule {
  const problems = ruleProblems(path, { ...rule });
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  return compileChecked(rule, path);
}

/** The same for a rule whose fields have been checked one by one. */
export function compileChecked(rule: Rule, path: string): CompiledRule {
  const algorithm = algorithmOf(rule.algorithm);
  const quota: Quota = { ...rule, window: parseDuration(rule.window) ?? NaN };
  const contradiction = quota.limit > 0 ? algorithm.check?.(quota) : undefined;
  if (contradiction !== undefined) throw new RateLimitConfigError([`${path}: ${contradiction}`]);

  const parameters: Parameters = algorithm.compile(quota);
  const { limit, cost = 1 } = rule;
  const capacity = limit === 0 ? 0 : (parameters['burst'] ?? limit);
  if (cost > capacity && limit > 0) {
    throw new RateLimitConfigError([
      problem(`${path}.cost`, cost, `at most ${capacity}, the most permits that can be had at once`),
    ]);
  }
  return {
    name: rule.name ?? DEFAULT_RULE_NAME,
    algorithm,
    parameters,
    cost,
    capacity,
    capacityWindowMs: toMilliseconds(limit === 0 ? quota.window : (quota.window * capacity) / limit),
  };
}
