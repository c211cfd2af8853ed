import { ALGORITHM_NAMES, loadAlgorithms } from '../../rules/rule-fields.js';
import { isFields } from '../../contracts/fields.js';
import { ofProcess } from '../../contracts/entry-of.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { dynamicFields, type RuleFields } from './rule-layers.js';
import type * as variation from './varied-rule.js';

/** What rules need: algorithms, by their names, and what compiles rules that vary. */
type Needs = Set<string>;

const VARIATION = 'variation';

/** Set before a rule with plans or functions, a shared rule, or a live change, is compiled. */
export const loaded: { variation?: typeof variation } = {};

/** What the rules of decorators need. */
const named = ofProcess('algorithms', (): Needs => new Set());

/** Fields of rules are nested at most so deeply: `rules`, a rule, `plans`, a plan. */
const DEEPEST = 5;

/** Whether a rule is another one for some requests, or gives some subjects weights. */
export function varies(rule: RuleFields): boolean {
  return Boolean(rule['plan'] ?? rule['plans'] ?? rule['share']) || dynamicFields(rule).length > 0;
}

/** Adds what fields of rules need, at any depth. */
function collect(value: unknown, needs: Needs, depth = 0): void {
  if (!isFields(value) || depth > DEEPEST) return;
  if (varies(value) || value['scope'] === 'shared') needs.add(VARIATION);
  for (const [field, each] of Object.entries(value)) {
    if (field === 'algorithm' && typeof each === 'string') needs.add(each);
    else collect(each, needs, depth + 1);
  }
}

/** Returns the rule of a decorator, whose needs the module or the first request of a late handler loads. */
export function noteNeeds(rule: object): object {
  collect(rule, named);
  return rule;
}

/** Loads what rules need, by default those of decorators so far; `undefined` if it is loaded. */
export function loadNeeds(needs: Needs = named): Promise<void> | undefined {
  const algorithms = loadAlgorithms(needs);
  if (!needs.has(VARIATION) || loaded.variation) return algorithms;
  const variation = import('./varied-rule.js').then((varied) => void (loaded.variation = varied));
  return Promise.all([algorithms, variation]).then(() => undefined);
}

/** Loads what the rules of the module's options and of decorators need. A live change may need anything. */
export async function loadForModule(options: RateLimitModuleOptions): Promise<void> {
  const { rules, onDemand, defaults, overrides, liveRules } = isFields(options) ? options : {};
  const needs = new Set(liveRules ? [...ALGORITHM_NAMES, VARIATION, ...named] : named);
  collect({ rules, onDemand, defaults, overrides }, needs);
  if (onDemand) needs.add(VARIATION); // These rules are shared.
  await loadNeeds(needs);
}
