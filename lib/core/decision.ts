import type { Verdict } from '../contracts/algorithm.js';
import { toMilliseconds } from '../contracts/clock.js';
import {
  compareStrictness,
  type Decision,
  type DecisionSource,
  type Fallback,
  type RuleDecision,
} from '../contracts/decision.js';
import type { Answer, Charge } from './charge.js';
import type { CompiledRule } from './compiled-rule.js';

/** The answer for a hit: that of the strictest rule that is enforced, and all of them. */
export class DecidedHit implements Decision {
  readonly allowed: boolean;
  readonly rule: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly delayMs: number;
  readonly source: DecisionSource;
  readonly fallback: Fallback | undefined;
  readonly #charge: Charge | undefined;

  constructor(
    readonly decisions: readonly RuleDecision[],
    source: DecisionSource,
    charge?: Charge,
  ) {
    const strictest = strictestOf(decisions);
    this.allowed = strictest.allowed || strictest.observed === true;
    this.rule = strictest.rule;
    this.limit = strictest.limit;
    this.windowMs = strictest.windowMs;
    this.remaining = strictest.remaining;
    this.retryAfterMs = this.allowed ? 0 : strictest.retryAfterMs;
    this.resetAfterMs = strictest.resetAfterMs;
    this.delayMs = this.allowed ? longestDelay(decisions) : 0;
    this.source = strictest.source ?? source;
    this.fallback = strictest.fallback;
    this.#charge = charge;
  }

  /** What a decision has charged; nothing if it denied, or was only asked. */
  static chargeOf(decision: Decision): Charge | undefined {
    return decision instanceof DecidedHit && decision.allowed ? decision.#charge : undefined;
  }
}

/**
 * The answer for one rule, from the store's microseconds to the user's milliseconds.
 *
 * @param elapsed how long ago the store gave it, in microseconds
 */
export function ruleDecision(rule: CompiledRule, verdict: Verdict, elapsed = 0): RuleDecision {
  const { allowed, remaining, retryAfter, resetAfter, delay } = verdict;
  const decision: RuleDecision = {
    allowed,
    rule: rule.name,
    limit: rule.capacity,
    windowMs: rule.capacityWindowMs,
    remaining,
    retryAfterMs: retryAfter === null ? null : toMilliseconds(Math.max(0, retryAfter - elapsed)),
    resetAfterMs: toMilliseconds(Math.max(0, resetAfter - elapsed)),
    delayMs: toMilliseconds(delay),
  };
  return rule.observe ? { ...decision, observed: true } : decision;
}

/** The same where each answer of a decision may come from another store, or from the fallback. */
export function answeredDecision(rule: CompiledRule, answer: Answer): RuleDecision {
  const { verdict, store, fallback, share = rule } = answer;
  const decision = ruleDecision(share, verdict);
  if (fallback) return { ...decision, source: 'fallback', fallback };
  return store ? { ...decision, source: store.source } : decision;
}

function strictestOf(decisions: readonly RuleDecision[]): RuleDecision {
  let strictest = decisions[0]!;
  for (let index = 1; index < decisions.length; index += 1) {
    if (compareStrictness(decisions[index]!, strictest) < 0) strictest = decisions[index]!;
  }
  return strictest;
}

function longestDelay(decisions: readonly RuleDecision[]): number {
  let longest = 0;
  for (const { delayMs, observed } of decisions) if (!observed && delayMs > longest) longest = delayMs;
  return longest;
}
