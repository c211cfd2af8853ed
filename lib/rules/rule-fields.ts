import { isCalendarWindow, NOMINAL_LENGTHS } from '../algorithms/calendar-length.js';
import type { AlgorithmDefinition, OptionCheck } from '../algorithms/definition.js';
import { durationOption, integer } from '../algorithms/option-checks.js';
import { isFields } from '../contracts/fields.js';
import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import { readCount } from '../contracts/count.js';
import { foreignFix } from './foreign-fields.js';
import { ON_STORE_ERROR } from './on-store-error.js';
import { problem } from './rate-limit-config.error.js';
import { DEFAULT_ALGORITHM } from './rule.js';

export { integer };

/** An algorithm with the types of its own options set aside. */
export type AnyDefinition = AlgorithmDefinition<object, unknown, string>;

const COUNT = integer(0, 1e9);

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
  window: durationOption,
  cost: COUNT,
  block: {
    ...durationOption,
    allowed: `${durationOption.allowed}; or "manual"`,
    accepts: (value) => value === 'manual' || durationOption.accepts(value),
  },
  mode: oneOf('enforce', 'shadow'),
  per: oneOf('cluster', 'instance'),
  onStoreError: oneOf(...ON_STORE_ERROR),
  trial: {
    allowed: 'an object with a limit, a window or both',
    accepts: (value) => isFields(value) && ('limit' in value || 'window' in value),
    read: (value) =>
      isFields(value) && 'limit' in value ? { ...value, limit: readCount(value['limit']) } : value,
  },
} as const satisfies Record<string, OptionCheck>;

/** The definition of an algorithm, with the types of its own options set aside. */
export function algorithmOf(name: string = DEFAULT_ALGORITHM): AnyDefinition {
  return algorithms[name as AlgorithmName];
}

/** What the fields of a rule of this algorithm may be. */
export function fieldsOf(
  definition: AnyDefinition,
  fields: Readonly<Record<string, OptionCheck>> = RULE_FIELDS,
): Readonly<Record<string, OptionCheck>> {
  const { window, ...others } = { ...fields, ...definition.options } as Record<string, OptionCheck>;
  if (definition.leases || !window) return others;
  return { ...others, window: definition.calendar ? orOfTheCalendar(window) : window };
}

function orOfTheCalendar({ allowed, accepts, ...check }: OptionCheck): OptionCheck {
  const words = Object.keys(NOMINAL_LENGTHS).map((word) => `"${word}"`);
  return {
    ...check,
    allowed: `${allowed}; or ${words.join(', ')}`,
    accepts: (value) => isCalendarWindow(value) || accepts(value),
  };
}

/** What the fields of a rule may be, as far as is known: its algorithm may be wrong. */
export function checksOf(
  algorithm: unknown,
  fields: Readonly<Record<string, OptionCheck>> = RULE_FIELDS,
): Readonly<Record<string, OptionCheck>> {
  const definition = knownAlgorithm(algorithm);
  return definition ? fieldsOf(definition, fields) : fields;
}

function knownAlgorithm(name: unknown): AnyDefinition | undefined {
  const isKnown = name === undefined || RULE_FIELDS.algorithm.accepts(name);
  return isKnown ? algorithmOf(name as string | undefined) : undefined;
}

/** Fields, or options, with the values that were given as text read: a count may be a string of digits. */
export function readFields<Fields extends object>(
  fields: Fields,
  checks: Readonly<Record<string, OptionCheck>>,
): Fields {
  let read: Record<string, unknown> | undefined;
  for (const [field, value] of Object.entries<unknown>(fields as Record<string, unknown>)) {
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    const given = check?.read ? check.read(value) : value;
    if (given !== value) (read ??= { ...fields } as Record<string, unknown>)[field] = given;
  }
  return (read ?? fields) as Fields;
}

/** The problem of a value that its check does not accept. */
export function refusal(path: string, value: unknown, { allowed, fix }: OptionCheck): string {
  return problem(path, value, allowed, fix?.(value));
}

/** The fields that a rule of this algorithm cannot do without. */
export function requiredFields(definition: AnyDefinition): readonly ('limit' | 'window')[] {
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
  const definition = knownAlgorithm(algorithm);
  const checks = checksOf(algorithm, fields);
  return Object.entries(rule).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check) return check.accepts(value) ? [] : [refusal(spell(field), value, check)];
    const fix = foreignFix(field, value);
    if (fix !== undefined) return [`${spell(field)}: ${fix}`];
    if (!definition) return []; // nobody knows whose option it is
    const owner = algorithm === undefined ? `${definition.name}, the default algorithm` : definition.name;
    return [`${spell(field)}: no such option of ${owner}; allowed: ${Object.keys(checks).join(', ')}`];
  });
}
