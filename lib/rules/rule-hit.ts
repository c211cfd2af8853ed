import type { Hit } from '../contracts/store.js';
import type { Subject } from './key.js';
import type { CompiledRule } from './compiled-rule.js';

/** The hit of a subject on a rule. */
export interface RuleHit extends Hit {
  readonly rule: CompiledRule;
  readonly subject: Subject;
}
