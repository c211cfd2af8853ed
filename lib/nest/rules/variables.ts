import { problem } from '../../contracts/rate-limit-config.error.js';
import { OPTION_NAMES } from '../../rules/rule-fields.js';
import { ROUTE_FIELDS } from './rule-layers.js';

const ALLOWED = 'a variable named RATE_LIMIT__<RULE>__<FIELD>, all in capitals';

/** The fields of rules, as variables have them, the longest first. */
const FIELDS = [...new Set([...Object.keys(ROUTE_FIELDS), ...OPTION_NAMES])]
  .filter((field) => field !== 'name')
  .map(variableOf)
  .sort((one, other) => other.length - one.length);

/** Begins nearly like a variable of a rule. */
const NEARLY = /^(rate[_-]?limit(s|er|ers|ing)?|rl)(?=__)/i;

/** Has one underscore too few somewhere, and ends with a field. */
const ONE_TOO_FEW = new RegExp(`^(rate_?limits?)_+(.+?)_+(${FIELDS.join('|')})$`, 'i');

/** Two underscores apart, as variables of a rule, behind a name that others may have as well. */
const WITH_FIELD = new RegExp(`__(${FIELDS.join('|')})$`, 'i');

/** The rule and the field in the name of a variable, both in capitals. */
export function partsOf(variable: string): readonly [rule: string, field: string] | undefined {
  const match = /^RATE_LIMIT__([A-Z0-9_]{1,64}?)__([A-Z0-9_]{1,64})$/.exec(variable);
  return match ? [match[1]!, match[2]!] : undefined;
}

/** What is wrong with a variable that is probably meant to set a field of a rule; `undefined` if none is meant. */
export function misspelling(variable: string, value: unknown): string | undefined {
  const [nearly] = NEARLY.exec(variable) ?? [];
  const isNearly = nearly !== undefined && (!/^rl$/i.test(nearly) || WITH_FIELD.test(variable));
  const apart = ONE_TOO_FEW.exec(variable);
  if (!isNearly && !apart) return undefined;
  const meant = apart ? `RATE_LIMIT__${apart[2]}__${apart[3]}` : variable.replace(NEARLY, 'RATE_LIMIT');
  const written = meant.toUpperCase().replaceAll('-', '_');
  return problem(variable, value, ALLOWED, partsOf(written) && `write ${written}`);
}

/** The field `allowList` as variables have it: `ALLOW_LIST`. */
export function variableOf(field: string): string {
  return field.replace(/[A-Z]/g, '_$&').toUpperCase();
}
