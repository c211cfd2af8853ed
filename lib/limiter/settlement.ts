import type { Decision } from '../contracts/decision.js';
import type { Adjustment } from '../contracts/store.js';
import { costOfRule, type Cost, type RuleHit } from '../rules/compiled-rule.js';
import { DecidedHit } from './decision.js';

/** What a reservation has used of one of its rules. */
export interface Use {
  /** The most permits that were reported. */
  used: number;
  /** Permits that were charged beyond the reservation. */
  charged: number;
}

/**
 * Returns the adjustments that change the charges of a decision to the actual cost, once. A rule that the cost does not
 * name keeps its charge, or is charged what was used beyond it. What was used and reserved is refunded by the receipt of the
 * reservation, so at most that is.
 *
 * @param hits the hits of the decision; permits that are held are not settled
 * @param uses what was used, by hit
 */
export function settlementOf(
  decision: Decision,
  hits: readonly RuleHit[],
  actual: Cost,
  uses: readonly Use[] = [],
): Adjustment[] {
  const charge = DecidedHit.chargeOf(decision);
  const isDelayed = decision.delayMs > 0; // The delays of those behind it are known already.
  return hits.flatMap(({ rule }, nth): Adjustment[] => {
    if (rule.algorithm.leases) return [];
    const [reserved] = charge?.take('refund', (_hit, index) => index === nth) ?? [];
    if (!reserved) return [];
    const { used, charged } = uses[nth] ?? { used: 0, charged: 0 };
    const difference = (costOfRule(actual, rule) ?? Math.max(reserved.cost, used)) - reserved.cost - charged;
    if (difference > 0) return [{ ...reserved, kind: 'charge', cost: difference }];
    const cost = Math.min(-difference, reserved.cost);
    return cost > 0 ? [{ ...reserved, kind: isDelayed ? 'refund-last' : 'refund', cost }] : [];
  });
}
