import { problem } from '../../contracts/rate-limit-config.error.js';
import { OPTION_NAMES } from '../../rules/rule-fields.js';
import { ROUTE_FIELDS } from './rule-layers.js';

const ALLOWED = 'a variable named RATE_LIMIT__<RULE>__<FIELD>, all in capitals';

/** The names of rule fields in variables, the longest first. */
const FIELDS = [...new Set([...Object.keys(ROUTE_FIELDS), ...OPTION_NAMES])]
  .filter((field) => field !== 'name')
  .map(variableOf)
  .sort((one, other) => other.length - one.length);

/** Matches a prefix that is nearly right, such as `RATELIMIT__`. */
const NEARLY = /^(rate[_-]?limit(s|er|ers|ing)?|rl)(?=__)/i;

/** Matches a variable in which one underscore is missing, and which ends with a field. */
const ONE_TOO_FEW = new RegExp(`^(rate_?limits?)_+(.+?)_+(${FIELDS.join('|')})$`, 'i');

/**
 * Matches rule and field separated by two underscores, after a prefix that other programs may use as well.
 */
const WITH_FIELD = new RegExp(`__(${FIELDS.join('|')})$`, 'i');

/** The rule and the field in the name of a variable, both in capitals. */
export function partsOf(variable: string): readonly [rule: string, field: string] | undefined {
  const match = /^RATE_LIMIT__([A-Z0-9_]{1,64}?)__([A-Z0-9_]{1,64})$/.exec(variable);
  return match ? [match[1]!, match[2]!] : undefined;
}

/**
 * Returns the problem of a variable that is probably meant to set a field of a rule; `undefined` if it is
 * not.
 */
export function misspelling(variable: string, value: unknown): string | undefined {
  const [nearly] = NEARLY.exec(variable) ?? [];
  const isNearly = nearly !== undefined && (!/^rl$/i.test(nearly) || WITH_FIELD.test(variable));
  const apart = ONE_TOO_FEW.exec(variable);
  if (!isNearly && !apart) return undefined;
  const meant = apart ? `RATE_LIMIT__${apart[2]}__${apart[3]}` : variable.replace(NEARLY, 'RATE_LIMIT');
  const written = meant.toUpperCase().replaceAll('-', '_');
  return problem(variable, value, ALLOWED, partsOf(written) && `write ${written}`);
}

/** Returns a field in the form of variables: `ALLOW_LIST` for `allowList`. */
export function variableOf(field: string): string {
  return field.replace(/[A-Z]/g, '_$&').toUpperCase();
}
