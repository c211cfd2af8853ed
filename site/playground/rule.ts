import { RateLimitConfigError } from '../../lib/contracts/rate-limit-config.error.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { CompiledRule } from '../../lib/rules/compiled-rule.js';
import type { AnyDefinition } from '../../lib/algorithms/known.js';
import { algorithmOf, RULE_FIELDS } from '../../lib/rules/rule-fields.js';
import { ruleOf, type RuleText } from '../../lib/simulate/rule-text.js';

/** Options that change nothing here: one process decides, and rules do not change. */
const WITHOUT_EFFECT = ['prefetch'];

/** The fields of every rule that can be set, besides the limit and the window. */
const COMMON = ['cost', 'block'];

/** Returns the algorithm of a rule; that of rules without `algorithm` if it does not exist. */
export function definitionOf({ algorithm }: RuleText): AnyDefinition {
  return algorithmOf(RULE_FIELDS.algorithm.accepts(algorithm) ? algorithm : undefined);
}

/** Returns the names of the fields that a rule can have here, besides the algorithm. */
export function fieldNames(rule: RuleText): readonly string[] {
  const { options, leases = false, delays = false } = definitionOf(rule);
  const own = Object.keys(options).filter((name) => !WITHOUT_EFFECT.includes(name));
  const unused = leases ? ['queue'] : []; // Without `maxWait`, no request is in the queue.
  const longest = delays ? ['maxWait'] : []; // With other algorithms, no request waits here.
  return [...(leases ? ['limit'] : ['limit', 'window']), ...own, ...longest, ...COMMON].filter(
    (name) => !unused.includes(name),
  );
}

/** Returns the text of a rule, which `fieldsOf` reads. */
export function textOf({ limit, window, algorithm, ...options }: RuleText): string {
  const amount = window === undefined ? limit! : `${limit!}/${window}`;
  const words = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  return [amount, ...(algorithm === undefined ? [] : [algorithm]), ...words].join(' ');
}

/**
 * Compiles a rule as an application does.
 *
 * @throws RateLimitConfigError with all problems of the rule
 */
export function compile(rule: RuleText): CompiledRule {
  return compileRule(ruleOf(rule), 'rule');
}

/** Compiles a rule; returns what is wrong with it if something is. */
export function tryCompile(rule: RuleText): CompiledRule | string {
  try {
    return compile(rule);
  } catch (error) {
    if (error instanceof RateLimitConfigError) return error.problems.join('; ');
    throw error;
  }
}
