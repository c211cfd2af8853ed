import { isCalendarWindow, NOMINAL_LENGTHS } from '../algorithms/definition.js';
import { ALGORITHM_NAMES, algorithmsWith, type AnyDefinition, knownAlgorithm } from '../algorithms/known.js';
import {
  durationOption,
  integer,
  matching,
  oneOf,
  rejection,
  unknownOption,
  type OptionCheck,
  readFields,
} from '../contracts/options.js';
import { entryOf } from '../contracts/entry-of.js';
import { isFields, pickFields } from '../contracts/fields.js';
import { durationFix, parseDuration } from '../contracts/duration.js';
import { quoted } from '../contracts/rate-limit-config.error.js';
import { foreignFix } from './foreign-fields.js';
import { ON_STORE_ERROR, DEFAULT_ALGORITHM, NOT_OF_LEASES, type NotOfLeases } from './rule.js';

const COUNT = integer(0, 1e9);

const MOST_ALERTS = 8;

/** The checks of the fields that every rule has. */
export const RULE_FIELDS = {
  name: {
    allowed: '1 to 64 printable ASCII characters, and no duration such as "1m"',
    accepts: (value) =>
      typeof value === 'string' && /^[\x20-\x7e]{1,64}$/.test(value) && parseDuration(value) === undefined,
  },
  algorithm: oneOf(...ALGORITHM_NAMES),
  limit: COUNT,
  window: {
    ...durationOption,
    fix: (value) => {
      const fix = durationFix(value);
      return isCalendarWindow(value) ? `${fix}, or algorithm "fixed-window" for a calendar ${value}` : fix;
    },
  },
  cost: COUNT,
  unit: matching(/^[a-z][a-z\d-]{0,31}$/i, 'a word of 1 to 32 letters, digits and hyphens'),
  block: {
    ...durationOption,
    allowed: `${durationOption.allowed}; or "manual"`,
    accepts: (value) => value === 'manual' || durationOption.accepts(value),
  },
  mode: oneOf('enforce', 'shadow'),
  per: oneOf('cluster', 'instance'),
  onStoreError: oneOf(...ON_STORE_ERROR),
  maxWait: durationOption,
  trial: {
    allowed: 'an object with a limit, a window or both',
    accepts: (value) => isFields(value) && ('limit' in value || 'window' in value),
    read: (value) => (isFields(value) ? readFields(value, { limit: COUNT }) : value),
  },
  alerts: {
    allowed: `a list of 1 to ${MOST_ALERTS} different fractions above 0 and up to 1, such as [0.8, 1]`,
    accepts: (value) =>
      Array.isArray(value) &&
      new Set(value).size === Math.min(Math.max(1, value.length), MOST_ALERTS) &&
      value.every((each) => typeof each === 'number' && each > 0 && each <= 1),
  },
} as const satisfies Record<string, OptionCheck>;

/** Returns the definition of an algorithm. */
export function algorithmOf(name: unknown = DEFAULT_ALGORITHM): AnyDefinition {
  return knownAlgorithm(name)!;
}

type Checks = Readonly<Record<string, OptionCheck>>;

type Fields = Readonly<Record<string, unknown>>;

/** The checks of all fields of a rule: by the checks of those besides the options of the algorithm, and the algorithm. */
const allChecks = new WeakMap<Checks, Map<AnyDefinition, Checks>>();

function withOptions(definition: AnyDefinition, fields: Checks): Checks {
  const all = { ...fields, ...definition.options } as Record<string, OptionCheck>;
  if (definition.leases) {
    return pickFields(all, (field) => !NOT_OF_LEASES.includes(field as NotOfLeases)) as Checks;
  }
  const { window, ...others } = all;
  return { ...others, window: definition.calendar ? orOfTheCalendar(window!) : window! };
}

function orOfTheCalendar({ allowed, accepts, ...check }: OptionCheck): OptionCheck {
  return {
    ...check,
    allowed: `${allowed}; or ${quoted(Object.keys(NOMINAL_LENGTHS))}`,
    accepts: (value) => isCalendarWindow(value) || accepts(value),
  };
}

/** Returns the checks of all fields of a rule; if its algorithm is unknown, of the fields that every rule has. */
export function checksOf(algorithm: unknown, fields: Checks = RULE_FIELDS): Checks {
  const definition = definitionOf(algorithm);
  if (!definition) return fields;
  const ofAlgorithms = entryOf(allChecks, fields, () => new Map<AnyDefinition, Checks>());
  return entryOf(ofAlgorithms, definition, () => withOptions(definition, fields));
}

function definitionOf(name: unknown): AnyDefinition | undefined {
  const isKnown = name === undefined || RULE_FIELDS.algorithm.accepts(name);
  return isKnown ? algorithmOf(name) : undefined;
}

/** Returns the problems of the fields that a rule with this algorithm lacks. */
export function missingFields(path: string, rule: Fields, fields: Checks = RULE_FIELDS): string[] {
  const definition = definitionOf(rule['algorithm']);
  if (!definition) return []; // Its own problem is reported.
  const checks = checksOf(definition.name, fields);
  return (definition.leases ? ['limit'] : ['limit', 'window'])
    .filter((field) => rule[field] === undefined)
    .map((field) => `${path}.${field}: missing; allowed: ${checks[field]!.allowed}`);
}

/**
 * Returns the problems of the fields of a rule, or of a part of one.
 *
 * @param pathOf returns the path of a field in messages, such as `rules.login.limit`
 * @param fields the checks of the fields besides the options of the algorithm
 * @param algorithm the algorithm of the rule, even if `rule` does not contain it
 */
export function fieldProblems(
  pathOf: (field: string) => string,
  rule: Fields,
  fields: Checks = RULE_FIELDS,
  algorithm: unknown = rule['algorithm'],
): string[] {
  const definition = definitionOf(algorithm);
  const checks = checksOf(algorithm, fields);
  return Object.entries(rule).flatMap(([field, value]) => {
    if (value === undefined) return [];
    const check = Object.hasOwn(checks, field) ? checks[field] : undefined;
    if (check) return check.accepts(value) ? [] : [rejection(pathOf(field), value, check)];
    const owners = ownersOf(field);
    const fix = owners === '' ? foreignFix(field, value) : undefined;
    if (fix !== undefined) return [`${pathOf(field)}: ${fix}`];
    if (!definition) return []; // The field may be an option of the intended algorithm.
    const owner = algorithm === undefined ? `${definition.name}, the default algorithm` : definition.name;
    return [unknownOption(pathOf(field), field, Object.keys(checks), ` of ${owner}${owners}`)];
  });
}

/** Returns which algorithms have an option, as a part of a message; an empty text if none has. */
function ownersOf(option: string): string {
  const names = [...algorithmsWith(option)];
  const last = names.pop();
  if (last === undefined) return '';
  return names.length === 0 ? `; ${last} has it` : `; ${names.join(', ')} and ${last} have it`;
}

export { ALGORITHM_NAMES, FOR_LARGE_LIMITS, loadAlgorithms, OPTION_NAMES } from '../algorithms/known.js';
