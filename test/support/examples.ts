import type { AlgorithmDefinition } from '../../lib/algorithms/definition.js';
import type { Example, ExampleQuota } from '../../lib/algorithms/definition.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { Rule } from '../../lib/index.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { ruleOf } from './example-rule.js';

type Definition = AlgorithmDefinition<object, unknown, string>;

/** A rule of an algorithm's examples. Its name contains the algorithm and the variant. */
export interface ExampleRule {
  readonly name: string;
  readonly definition: Definition;
  readonly example: Example;
  readonly rule: AnyRule;
}

/** Every algorithm of the registry. */
export const DEFINITIONS = Object.values(algorithms) as unknown as readonly Definition[];

/** The examples of all algorithms for a limit. */
export function examplesFor(quota: ExampleQuota): ExampleRule[] {
  return DEFINITIONS.flatMap((definition) =>
    definition.examples.map((example) => {
      const rule = ruleOf(definition, example, quota) as unknown as AnyRule & { name: string };
      return { name: rule.name, definition, example, rule };
    }),
  );
}

/** The rules for `consume` that allow a new subject the full limit at once. */
export function rulesAtOnce(quota: ExampleQuota): Rule[] {
  return examplesFor(quota)
    .filter(({ definition, example }) => !definition.leases && example.allAtOnce !== false)
    .map(({ rule }) => rule as Rule);
}

/** The first such rule of each algorithm for `consume`. */
export function plainRules(quota: ExampleQuota): Rule[] {
  return examplesFor(quota)
    .filter(({ definition, example }) => !definition.leases && example.variant === '')
    .map(({ rule }) => rule as Rule);
}

/** Returns the rules that support prefetch, with prefetch. */
export function prefetching(rules: readonly Rule[], prefetch: object): Rule[] {
  return rules.map((rule) => ({ ...rule, prefetch }) as Rule).filter(compiles);
}

/** Whether a rule is valid: not every example supports every option and every limit. */
export function compiles(rule: Rule): boolean {
  try {
    compileRule(rule);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first example of each algorithm that a list of names does not contain, for a limit. */
export function rulesOfOthers(names: readonly string[], quota: ExampleQuota): ExampleRule[] {
  const isPlain = ({ example }: ExampleRule) => example.variant === '';
  return examplesFor(quota).filter((each) => isPlain(each) && !names.includes(each.definition.name));
}
