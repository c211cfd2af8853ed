import type { CompiledRule } from './compiled-rule.js';

/** Permits by the names of rules. */
export type CostByRule<Name extends string = string> = Readonly<Partial<Record<Name, number>>>;

/** Permits of each rule, or permits by the names of rules. */
export type Cost = number | CostByRule;

/** Returns the name of a rule in costs: a trial limit costs what its rule costs. */
export function costName({ name, trialOf = name }: Pick<CompiledRule, 'name' | 'trialOf'>): string {
  return trialOf;
}

/** Returns the permits of a rule; `undefined` if the cost does not name the rule. */
export function costOfRule(cost: Cost | undefined, rule: CompiledRule): number | undefined {
  if (typeof cost !== 'object') return cost;
  const name = costName(rule);
  return Object.hasOwn(cost, name) ? cost[name] : undefined;
}
