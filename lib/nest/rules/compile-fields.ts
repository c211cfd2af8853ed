import { compileRule } from '../../rules/compile-rule.js';
import type { CompiledRule } from '../../rules/compiled-rule.js';
import { algorithmOf, RULE_FIELDS } from '../../rules/rule-fields.js';
import type { AnyRule } from '../../rules/rule.js';
import { ROUTE_FIELDS, type RuleFields } from './rule-layers.js';

const DYNAMIC = ['limit', 'window', 'cost'] as const;

/** The fields that are functions of the request. */
export function dynamicFields(fields: RuleFields): (typeof DYNAMIC)[number][] {
  return DYNAMIC.filter((field) => typeof fields[field] === 'function');
}

/**
 * Compiles the fields of a rule that has no functions.
 *
 * @param weightNameOf returns the name of a weight in `share` as subjects are counted
 * @throws RateLimitConfigError if the rule is invalid
 */
export function compileFields(
  fields: RuleFields,
  path: string,
  weightNameOf?: (name: string) => string,
): CompiledRule {
  return compileRule(ruleOf(fields), path, weightNameOf);
}

/** Returns the fields of a route's rule that `RateLimiter` supports. */
function ruleOf(fields: RuleFields): AnyRule {
  const known = { ...RULE_FIELDS, ...algorithmOf(fields['algorithm'])?.options };
  const own = Object.entries(fields).filter(
    ([field]) => Object.hasOwn(known, field) || !Object.hasOwn(ROUTE_FIELDS, field),
  );
  return Object.fromEntries(own) as unknown as AnyRule;
}
