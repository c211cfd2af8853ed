import { isCalendarWindow, NOMINAL_LENGTHS } from '../algorithms/calendar-length.js';
import type { AlgorithmDefinition, OptionCheck } from '../algorithms/definition.js';
import { durationOption, integer } from '../algorithms/option-checks.js';
import { algorithms, type AlgorithmName } from '../algorithms/registry.js';
import { ON_STORE_ERROR } from './on-store-error.js';
import { problem } from './rate-limit-config.error.js';
import { DEFAULT_ALGORITHM } from './rule.js';

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
    allowed: `${durationOption.allowed}; or "manual"`,
    accepts: (value) => value === 'manual' || durationOption.accepts(value),
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

function orOfTheCalendar({ allowed, accepts }: OptionCheck): OptionCheck {
  const words = Object.keys(NOMINAL_LENGTHS).map((word) => `"${word}"`);
  return {
    allowed: `${allowed}; or ${words.join(', ')}`,
    accepts: (value) => isCalendarWindow(value) || accepts(value),
  };
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
