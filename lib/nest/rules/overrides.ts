import { entryOf } from '../../contracts/entry-of.js';
import { converted } from '../../contracts/options.js';
import { problem, rejectAny, rejectConfig } from '../../contracts/rate-limit-config.error.js';
import { OPTION_NAMES } from '../../rules/rule-fields.js';
import { ROUTE_FIELDS, type FieldName, type RuleFields } from './rule-layers.js';
import { byFromText } from './by.js';

const ALLOWED = 'a variable named RATE_LIMIT__<RULE>__<FIELD>, all in capitals';

/** The names of rule fields in variables, the longest first. */
const FIELDS = [...new Set([...Object.keys(ROUTE_FIELDS), ...OPTION_NAMES])]
  .filter((field) => field !== 'name')
  .map(variableOf)
  .sort((one, other) => other.length - one.length);

/** Matches a prefix that is nearly right, such as `RATELIMIT__`. */
const NEARLY = /^(rate[_-]?limit(s|er|ers|ing)?|rl)(?=__)/i;

/** Matches a variable in which one underscore is missing, and which ends with a field. */
const ONE_TOO_FEW = new RegExp(`^(rate_?limits?)_+([^_](?:.*?[^_])?)_+(${FIELDS.join('|')})$`, 'i');

/**
 * Matches rule and field separated by two underscores, after a prefix that other programs may use as well.
 */
const WITH_FIELD = new RegExp(`__(${FIELDS.join('|')})$`, 'i');

/** The rule and the field in the name of a variable, both in capitals. */
function partsOf(variable: string): readonly [rule: string, field: string] | undefined {
  const match = /^RATE_LIMIT__([A-Z0-9_]{1,64})__([A-Z0-9]+(?:_[A-Z0-9]+)*)$/.exec(variable);
  return match ? [match[1]!, match[2]!] : undefined;
}

/**
 * Returns the problem of a variable that is probably meant to set a field of a rule; `undefined` if it is
 * not.
 */
function misspelling(variable: string, value: unknown): string | undefined {
  const [nearly] = NEARLY.exec(variable) ?? [];
  const isNearly = nearly !== undefined && (!/^rl$/i.test(nearly) || WITH_FIELD.test(variable));
  const apart = ONE_TOO_FEW.exec(variable);
  if (!isNearly && !apart) return undefined;
  const meant = apart ? `RATE_LIMIT__${apart[2]}__${apart[3]}` : variable.replace(NEARLY, 'RATE_LIMIT');
  const written = meant.toUpperCase().replaceAll('-', '_');
  return problem(variable, value, ALLOWED, partsOf(written) && `write ${written}`);
}

/** Returns a field in the form of variables: `ALLOW_LIST` for `allowList`. */
function variableOf(field: string): string {
  return field.replace(/[A-Z]/g, '_$&').toUpperCase();
}

/** Fields by rule name, from configuration. They are checked at start. */
export type RuleOverrides = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const WITH_VALUE = 'a variable of the process, or one that `config` returns';

/** A key of overrides that were read from the environment: its value returns the variable's name for a field. */
const VARIABLE = Symbol('rate-limit:variable');

type FromEnvironment = Record<string, unknown> & { [VARIABLE]?: FieldName };

/** Nest's ConfigService, or any object with its `get`. */
interface ConfigReader {
  /** Returns the value of a variable, or `undefined`. */
  get(key: string): unknown;
}

/**
 * Returns the overrides in the environment, for the module option `overrides`. `RATE_LIMIT__LOGIN__LIMIT=10`
 * sets `limit` of the rule `login`; `RATE_LIMIT__CREATE_ORDER__ON_MISSING_SUBJECT=deny` sets
 * `onMissingSubject` of `create-order`. Lists are separated by commas.
 *
 * @param config reads the values, `.env` files included
 * @param names names of the variables to read; all variables of the process unless given
 * @throws RateLimitConfigError if a variable is misspelled or has no value, or `config` reads none
 * @example
 * useFactory: (config: ConfigService) => ({ overrides: overridesFromEnv(config) })
 */
export function overridesFromEnv(
  config: ConfigReader,
  names: readonly string[] = Object.keys(process.env),
): RuleOverrides {
  checkArguments(config, names);
  const overrides = new Map<string, FromEnvironment>();
  const problems: string[] = [];
  for (const variable of names) {
    const parts = partsOf(variable);
    // ConfigModule copies `.env` files into `process.env`, except with `skipProcessEnv`.
    const value = config.get(variable) ?? process.env[variable];
    if (!parts) problems.push(...[misspelling(variable, value) ?? []].flat());
    else if (value === undefined) problems.push(`${variable}: has no value; allowed: ${WITH_VALUE}`);
    else {
      const [rule, field] = parts;
      const nameOf: FieldName = (each) => `RATE_LIMIT__${rule}__${variableOf(each)}`;
      entryOf(overrides, rule, () => ({ [VARIABLE]: nameOf }))[camelCase(field)] = value;
    }
  }
  rejectAny(problems);
  return Object.fromEntries(overrides);
}

/**
 * The variables of the process that would override fields of rules, or are probably meant to, if they were passed to
 * `overrides`.
 */
export function unreadVariables(overrides: RuleOverrides = {}): readonly string[] {
  return Object.keys(process.env).filter((variable) => {
    const [rule] = partsOf(variable) ?? [];
    if (rule === undefined) return misspelling(variable, process.env[variable]) !== undefined;
    return !Object.hasOwn({ ...overrides[rule] }, VARIABLE);
  });
}

function checkArguments(config: unknown, names: unknown): void {
  // Without the values: either may be the environment.
  if (typeof (config as ConfigReader | null | undefined)?.get !== 'function') {
    rejectConfig(
      `config of overridesFromEnv: got ${typeof config}; allowed: Nest's ConfigService, or { get: (name) => process.env[name] }`,
    );
  }
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return;
  rejectConfig(`names of overridesFromEnv: got ${typeof names}; allowed: a list of names of variables`);
}

/** The rules that an override applies to: the rule of this name, or for `CREATE_ORDER` each rule whose name has this form. */
export function rulesNamed(override: string, names: ReadonlySet<string>): readonly string[] {
  if (names.has(override)) return [override];
  return [...names].filter((name) => capitals(name) === override);
}

/** The fields of an override, with comma-separated strings of the environment converted to lists, and flags to booleans. */
export function readTexts(fields: RuleFields): RuleFields {
  return converted(fields, (value, field) => {
    if (typeof value !== 'string') return value;
    if (field === 'by') return byFromText(value);
    if (field === 'allowList') return value.split(',').map((entry) => entry.trim());
    return value === 'true' || value === 'false' ? value === 'true' : value;
  });
}

/** The name of an override's field in messages: `overrides.login.limit`, or the variable. */
export function overridePath(name: string, fields: RuleFields): FieldName {
  return (fields as FromEnvironment)[VARIABLE] ?? ((field) => `overrides.${name}.${field}`);
}

/** Matches a problem of a variable for a field whose values are objects, lists of numbers or functions. */
const ONLY_IN_CODE = /^RATE_LIMIT__\w+__(PLANS?|TRIAL|ALERTS|SKIP_IF|SETTLE)(?=:)/;

/** A problem of an override's field; a variable cannot hold a function. */
export function ofOverride(problem: string): string {
  const [variable] = ONLY_IN_CODE.exec(problem) ?? [];
  if (variable !== undefined) return `${variable}: set it in code, in \`overrides\``;
  const isVariable = problem.startsWith('RATE_LIMIT__');
  return isVariable
    ? problem.replace(/, or a function of the (ExecutionContext|result)(?=;|$)/, '')
    : problem;
}

function capitals(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
}

function camelCase(text: string): string {
  return text.toLowerCase().replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
}
