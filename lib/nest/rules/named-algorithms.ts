import { ALGORITHM_NAMES, loadAlgorithms } from '../../rules/rule-fields.js';
import { isFields } from '../../contracts/fields.js';
import { ofProcess } from '../../contracts/of-process.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';

/** The algorithms that decorators have named. */
const named = ofProcess('algorithms', () => new Set<string>());

/** Fields of rules are nested at most so deeply: `rules`, a rule, `plans`, a plan. */
const DEEPEST = 5;

/** Adds the algorithms that fields of rules name, at any depth. */
function collect(value: unknown, found: Set<string>, depth = 0): void {
  if (!isFields(value) || depth > DEEPEST) return;
  for (const [field, each] of Object.entries(value)) {
    if (field === 'algorithm' && typeof each === 'string') found.add(each);
    else collect(each, found, depth + 1);
  }
}

/** Returns the rule of a decorator, whose algorithms the module or the first request of a late handler loads. */
export function noteAlgorithms(rule: object): object {
  collect(rule, named);
  return rule;
}

/** Loads the algorithms that decorators have named so far; `undefined` if they are loaded. */
export function loadNamed(): Promise<void> | undefined {
  return loadAlgorithms(named);
}

/** Loads the algorithms that the options of the module and decorators name. A live change may name any. */
export async function loadForModule(options: RateLimitModuleOptions): Promise<void> {
  const { rules, onDemand, defaults, overrides, liveRules } = isFields(options) ? options : {};
  if (liveRules) await loadAlgorithms(ALGORITHM_NAMES);
  const found = new Set(named);
  collect({ rules, onDemand, defaults, overrides }, found);
  await loadAlgorithms(found);
}
