import type { AnyRule } from '../../lib/rules/rule.js';
import type { Counter } from '../../lib/store.js';
import { compileRule } from '../../lib/rules/compile-rule.js';

/** Returns the counter of a rule under a key, whatever its state name is. */
export function counterOf(key: string, rule: AnyRule, now: number): Counter {
  const { algorithm, parameters, parametersAt } = compileRule(rule);
  return { key, algorithm, parameters: parametersAt?.(now / 1000) ?? parameters };
}
