import { problem, type RateLimitConfigError, rejectAny } from '../../contracts/rate-limit-config.error.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { algorithmOf, RULE_FIELDS } from '../../rules/rule-fields.js';
import type { AnyRule } from '../../rules/rule.js';
import { programSubject } from './program-subject.js';
import type { CountedBy } from './route-rule.js';
import { capacitiesInPermits, ROUTE_FIELDS, type RuleFields } from './rule-layers.js';

const DYNAMIC = ['limit', 'window', 'cost'] as const;

/** Limits and windows that take the place of functions in the check at start: the rule must be valid with one of them. */
const SAMPLES = [1, 1e3, 1e6, 1e9].flatMap((limit) => ['1s', '1d'].map((window) => ({ limit, window })));

/** The fields that are functions of the request. */
export function dynamicFields(fields: RuleFields): (typeof DYNAMIC)[number][] {
  return DYNAMIC.filter((field) => typeof fields[field] === 'function');
}

/**
 * Compiles the fields of a rule, with sample values instead of its functions.
 *
 * @throws RateLimitConfigError if the rule is invalid for every value that its functions may return
 */
export function compileFields(fields: RuleFields, path: string): CompiledRule {
  const given = dynamicFields(fields);
  const weightName = weightNameOf(fields, path);
  if (given.length === 0) return compileRule(ruleOf(fields), path, weightName);
  const ofOne = fields['share'] === undefined ? [] : given.filter((field) => field !== 'cost');
  const fix = 'a value, since all subjects of a rule with share have one limit and window';
  rejectAny(ofOne.map((field) => `${path}.${field}: got a function; allowed: ${fix}`));
  checkCapacity(fields, given, path);
  let rejection: unknown;
  for (const sample of SAMPLES) {
    const values = Object.fromEntries(given.map((field) => [field, { ...sample, cost: 0 }[field]]));
    try {
      return compileRule(ruleOf({ ...fields, ...values }), path, weightName);
    } catch (error) {
      rejection ??= error;
    }
  }
  throw rejection as RateLimitConfigError;
}

/**
 * A number of permits has another time at each limit, so that each value of the function would start new counters.
 *
 * @throws RateLimitConfigError if the limit or the window is a function, and a capacity is a number
 */
function checkCapacity(fields: RuleFields, given: readonly string[], path: string): void {
  const cause = given.find((field) => field !== 'cost');
  if (cause === undefined) return;
  const allowed = `the time in which the limit adds the permits, such as "10s", since ${cause} is a function`;
  rejectAny(capacitiesInPermits(fields).map((name) => problem(`${path}.${name}`, fields[name], allowed)));
}

/** Returns the fields of a route's rule that `RateLimiter` supports. */
function ruleOf(fields: RuleFields): AnyRule {
  const known = { ...RULE_FIELDS, ...algorithmOf(fields['algorithm'])?.options };
  const own = Object.entries(fields).filter(
    ([field]) => Object.hasOwn(known, field) || !Object.hasOwn(ROUTE_FIELDS, field),
  );
  return Object.fromEntries(own) as unknown as AnyRule;
}

/** Returns the function that gives the names of weights in `share` as the guard counts these subjects. */
function weightNameOf(
  { by, ipv6Prefix = 64, share }: RuleFields,
  path: string,
): ((name: string) => string) | undefined {
  const { weights } = { ...(share as { readonly weights?: object } | undefined) };
  if (!weights) return undefined;
  const list = `${path}.share.weights: names are single values, and \`by\` is a list; allowed: a \`by\` that is not a list, such as a function that joins the values`;
  rejectAny(Array.isArray(by) ? [list] : []);
  const subjectOf = programSubject(by as CountedBy, ipv6Prefix as number, `${path}.share.weights`);
  return (name) => subjectOf(name) as string;
}
