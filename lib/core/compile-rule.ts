import { isCalendarWindow, NOMINAL_LENGTHS } from '../algorithms/calendar-length.js';
import type { AlgorithmDefinition, OptionCheck, Quota } from '../algorithms/definition.js';
import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import { toMicroseconds, toMilliseconds } from '../contracts/clock.js';
import { DURATION_ALLOWED, parseDuration } from '../contracts/duration.js';
import { ON_STORE_ERROR } from './on-store-error.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import { DEFAULT_ALGORITHM, DEFAULT_RULE_NAME, type CompiledRule, type AnyRule } from './rule.js';

type Definition = AlgorithmDefinition<object, unknown, string>;

const COUNT: OptionCheck = {
  allowed: 'an integer from 0 to 1000000000',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e9,
};

/** A field that takes one of a few words. */
export function oneOf(...words: readonly string[]): OptionCheck {
  return {
    allowed: words.map((word) => `"${word}"`).join(', '),
    accepts: (value) => words.includes(value as string),
  };
}

/** What the fields that every rule has may be. */
export const RULE_FIELDS = {
  name: {
    allowed: '1 to 64 printable ASCII characters',
    accepts: (value) => typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value),
  },
  algorithm: oneOf(...Object.keys(algorithms)),
  limit: COUNT,
  window: { allowed: DURATION_ALLOWED, accepts: (value) => parseDuration(value) !== undefined },
  cost: COUNT,
  block: {
    allowed: `${DURATION_ALLOWED}; or "manual"`,
    accepts: (value) => value === 'manual' || parseDuration(value) !== undefined,
  },
  mode: oneOf('enforce', 'observe'),
  per: oneOf('cluster', 'instance'),
  onStoreError: oneOf(...ON_STORE_ERROR),
  candidate: {
    allowed: 'an object with a limit, a window or both',
    accepts: isCandidate,
  },
} as const satisfies Record<string, OptionCheck>;

function isCandidate(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return 'limit' in value || 'window' in value;
}

const CANDIDATE_FIELDS = { limit: RULE_FIELDS.limit, window: RULE_FIELDS.window };

/** The definition of an algorithm, with the types of its own options set aside. */
export function algorithmOf(name: string = DEFAULT_ALGORITHM): Definition {
  return algorithms[name as AlgorithmName];
}

/** What the fields of a rule of this algorithm may be. */
export function fieldsOf(
  definition: Definition,
  fields: Readonly<Record<string, OptionCheck>> = RULE_FIELDS,
): Readonly<Record<string, OptionCheck>> {
  const { window, ...others } = { ...fields, ...definition.options } as Record<string, OptionCheck>;
  if (definition.leases || !window) return others;
  return { ...others, window: definition.calendar ? orOfTheCalendar(window) : window };
}

function orOfTheCalendar({ allowed, accepts }: OptionCheck): OptionCheck {
  const words = Object.keys(NOMINAL_LENGTHS).map((word) => `"${word}"`);
  return {
    allowed: `${allowed}; or ${words.join(', ')}`,
    accepts: (value) => isCalendarWindow(value) || accepts(value),
  };
}

/** The fields that a rule of this algorithm cannot do without. */
export function requiredFields(definition: Definition): readonly ('limit' | 'window')[] {
  return definition.leases ? ['limit'] : ['limit', 'window'];
}

/**
 * Says what is wrong with the fields of a rule, or of a part of one.
 *
 * @param spell what a message calls a field, such as `rules.login.limit`
 * @param fields what a rule may say besides its algorithm's options
 * @param algorithm the rule's, wherever it is said
 */
export function fieldProblems(
  spell: (field: string) => string,
  rule: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, OptionCheck>> = RULE_FIELDS,
  algorithm: unknown = rule['algorithm'],
): string[] {
  const isKnown = algorithm === undefined || RULE_FIELDS.algorithm.accepts(algorithm);
  const definition = isKnown ? algorithmOf(algorithm as string | undefined) : undefined;
  const checks = definition ? fieldsOf(definition, fields) : fields;
  return Object.entries(rule).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check) return check.accepts(value) ? [] : [problem(spell(field), value, check.allowed)];
    if (!definition) return []; // nobody knows whose option it is
    const allowed = Object.keys(checks).join(', ');
    return [`${spell(field)}: no such option of ${definition.name}; allowed: ${allowed}`];
  });
}

/**
 * Makes a rule ready for a store.
 *
 * @param path what a message calls the rule
 * @throws RateLimitConfigError naming everything that is wrong with it
 */
export function compileRule(rule: AnyRule, path = `rule "${rule.name ?? DEFAULT_RULE_NAME}"`): CompiledRule {
  const fields = { ...rule } as Readonly<Record<string, unknown>>;
  const problems = fieldProblems((field) => `${path}.${field}`, fields);
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  const definition = algorithmOf(rule.algorithm);
  const checks = fieldsOf(definition);
  for (const field of requiredFields(definition)) {
    if (fields[field] === undefined)
      problems.push(`${path}.${field}: missing; allowed: ${checks[field]!.allowed}`);
  }
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  return compileChecked(rule, definition, path);
}

function compileChecked(rule: AnyRule, definition: Definition, path: string): CompiledRule {
  const quota = quotaOf(rule, definition);
  const algorithm = definition.resolve?.(quota) ?? definition;
  const { limit, cost = 1, block } = rule;
  const contradiction = limit > 0 ? algorithm.check?.(quota) : undefined;
  if (contradiction !== undefined) throw new RateLimitConfigError([`${path}: ${contradiction}`]);

  const parameters = algorithm.compile(quota);
  const compileAt = algorithm.compileAt?.(quota);
  const capacity = limit === 0 ? 0 : (algorithm.capacity?.(parameters) ?? limit);
  if (cost > capacity && limit > 0) {
    throw new RateLimitConfigError([
      problem(`${path}.cost`, cost, `at most ${capacity}, the most permits that can be had at once`),
    ]);
  }
  return {
    name: rule.name ?? DEFAULT_RULE_NAME,
    algorithm,
    parameters,
    parametersAt: compileAt && ((nowMs) => compileAt(toMicroseconds(nowMs))),
    cost,
    queues: algorithm.queues === true,
    capacity,
    capacityWindowMs: toMilliseconds(limit === 0 ? quota.window : (quota.window * capacity) / limit),
    block: block === 'manual' ? 0 : parseDuration(block),
    observe: rule.mode === 'observe',
    perInstance: rule.per === 'instance',
    onStoreError: rule.onStoreError,
    candidate: compileCandidate(rule, path),
  };
}

/** The rule with its window as a number. */
function quotaOf(rule: AnyRule, definition: Definition): Quota {
  if (definition.leases) return { ...rule, window: 0 };
  const { window } = rule as { window?: unknown };
  if (isCalendarWindow(window)) return { ...rule, window: NOMINAL_LENGTHS[window], calendar: window };
  return { ...rule, window: parseDuration(window)! };
}

function compileCandidate({ candidate, ...live }: AnyRule, path: string): CompiledRule | undefined {
  if (candidate === undefined) return undefined;
  const problems = fieldProblems((field) => `${path}.candidate.${field}`, { ...candidate }, CANDIDATE_FIELDS);
  if (problems.length > 0) throw new RateLimitConfigError(problems);
  const rule = { ...live, ...candidate, mode: 'observe' } as AnyRule;
  return { ...compileRule(rule, `${path}.candidate`), name: `${live.name ?? DEFAULT_RULE_NAME}?` };
}
