import type { Hit } from '../contracts/store.js';
import type { MaybePromise } from '../contracts/thenable.js';
import type { CompiledRule } from './compiled-rule.js';
import type { Subject } from './subject.js';

/** The hit of a subject on a rule. */
export interface RuleHit extends Hit {
  readonly rule: CompiledRule;
  readonly subject: Subject;
  /** The route that the counter belongs to; absent if routes share it. */
  readonly route?: string | undefined;
  /** How long the request waits for its permits; absent if it does not. */
  readonly wait?: HitWait | undefined;
}

/** How long a request waits. */
export interface HitWait {
  readonly maxWaitMs: number;
  /** Returns a signal that ends the wait. */
  readonly signal: () => AbortSignal | undefined;
  /** Returns the hits that the request would have if it arrived now. */
  readonly current?: () => MaybePromise<readonly RuleHit[]>;
}
