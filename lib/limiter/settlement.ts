import type { Decision } from '../contracts/decision.js';
import type { Adjustment } from '../contracts/store.js';
import { costOfRule, type Cost } from '../rules/cost.js';
import type { RuleHit } from '../rules/rule-hit.js';
import { DecidedHit } from './decision.js';

/**
 * Returns the adjustments that change the charges of a decision to the actual cost, once. A rule that the cost does not
 * name keeps its charge.
 *
 * @param hits the hits of the decision
 */
export function settlementOf(decision: Decision, hits: readonly RuleHit[], actual: Cost): Adjustment[] {
  const charge = DecidedHit.chargeOf(decision);
  const isDelayed = decision.delayMs > 0; // The delays of those behind it are known already.
  return hits.flatMap(({ rule }, nth): Adjustment[] => {
    const [charged] = charge?.take('refund', (_hit, index) => index === nth) ?? [];
    const difference = charged ? (costOfRule(actual, rule) ?? charged.cost) - charged.cost : 0;
    if (!charged || difference === 0) return [];
    return [
      {
        ...charged,
        kind: difference > 0 ? 'charge' : isDelayed ? 'refund-last' : 'refund',
        cost: Math.abs(difference),
      },
    ];
  });
}
