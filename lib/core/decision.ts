import type { Verdict } from '../contracts/algorithm.js';
import { toMilliseconds } from '../contracts/clock.js';
import {
  compareStrictness,
  type Decision,
  type DecisionSource,
  type RuleDecision,
} from '../contracts/decision.js';
import type { CompiledRule } from './rule.js';

/** The answer for one rule, from the store's microseconds to the user's milliseconds. */
export function ruleDecision(rule: CompiledRule, verdict: Verdict): RuleDecision {
  const { allowed, remaining, retryAfter, resetAfter } = verdict;
  return {
    allowed,
    rule: rule.name,
    limit: rule.capacity,
    windowMs: rule.capacityWindowMs,
    remaining,
    retryAfterMs: retryAfter === null ? null : toMilliseconds(retryAfter),
    resetAfterMs: toMilliseconds(resetAfter),
    delayMs: 0,
  };
}

/** The answer for a hit: that of the strictest rule, and all of them. */
export function decisionOf(decisions: readonly RuleDecision[], source: DecisionSource): Decision {
  let strictest = decisions[0]!;
  for (const decision of decisions) {
    if (compareStrictness(decision, strictest) < 0) strictest = decision;
  }
  return { ...strictest, source, decisions };
}
