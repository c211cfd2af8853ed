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
  return hits.flatMap(({ rule }, nth): Adjustment[] => {
    if (rule.algorithm.leases) return [];
    const [reserved] = charge?.take('refund', (_hit, index) => index === nth) ?? [];
    if (!reserved) return [];
    const { used, charged, confirmed } = uses[nth] ?? { used: 0, charged: 0, confirmed: 0 };
    const overrun = (costOfRule(actual, rule) ?? Math.max(reserved.cost, used)) - reserved.cost;
    if (overrun > charged) return [{ ...reserved, kind: 'charge', cost: overrun - charged }];
    const cost = Math.min(confirmed - overrun, reserved.cost);
    return cost > 0 ? [{ ...reserved, kind: isDelayed ? 'refund-last' : 'refund', cost }] : [];
  });
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
