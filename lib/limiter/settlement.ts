import type { Decision } from '../contracts/decision.js';
import { didYouMean } from '../contracts/nearest.js';
import { shown } from '../contracts/shown.js';
import type { Adjustment } from '../contracts/store.js';
import { costOfRule, type Cost, type RuleHit } from '../rules/compiled-rule.js';
import { DecidedHit } from './decision.js';

/** What a reservation has used of one of its rules. */
export interface Use {
  /** The most permits that were reported. */
  used: number;
  /** Permits that were charged beyond the reservation. */
  charged: number;
  /** The part of them that the store has confirmed. */
  confirmed: number;
}

const UNUSED: Use = { used: 0, charged: 0, confirmed: 0 };

/**
 * Returns the adjustments that change the charges of a decision to the actual cost, once. A rule that the cost does not
 * name keeps its charge, or is charged what was used beyond it. What was used and reserved is refunded by the receipt of the
 * reservation, so at most that is. A charge that the store did not confirm may be lost, so it is neither repeated nor refunded.
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
  const adjustments: Adjustment[] = [];
  for (const [nth, { rule, cost: reserved }] of hits.entries()) {
    if (rule.algorithm.leases || !charge?.end(nth)) continue;
    const { used, charged, confirmed } = uses[nth] ?? UNUSED;
    const overrun = (costOfRule(actual, rule) ?? Math.max(reserved, used)) - reserved;
    const refund = Math.min(confirmed - overrun, reserved);
    if (overrun > charged) adjustments.push(charge.adjustment('charge', nth, overrun - charged));
    else if (refund > 0)
      adjustments.push(charge.adjustment(isDelayed ? 'refund-last' : 'refund', nth, refund));
  }
  return adjustments;
}

/** Completes the sentence "A reservation was settled" if a cost names a rule that is not settled. */
export function misnamed(names: readonly string[], actual: object): string | undefined {
  const unknown = Object.keys(actual).find((name) => !names.includes(name));
  if (unknown === undefined) return undefined;
  const fix = didYouMean(unknown, names);
  return (
    ` with the rule ${shown(unknown)}, which is not among them. Rules that settle() does not name keep their charge. ` +
    `Correct the name${fix === undefined ? '.' : `: ${fix}`}`
  );
}
