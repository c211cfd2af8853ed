import { didYouMean } from '../contracts/rate-limit-config.error.js';
import type { Decision } from '../contracts/decision.js';
import { shown } from '../contracts/shown.js';
import type { Adjustment } from '../contracts/store.js';
import { costOfRule, type Cost, type RuleHit } from '../rules/compiled-rule.js';
import { DecidedHit } from './decision.js';
import type { Engine } from './engine.js';

const REPORT_EVERY_MS = 1000;
/** The pause after a report that the store did not confirm, since the store repeats it meanwhile. */
const UNCONFIRMED_MS = 10_000;
/** The part of a reservation that may be used beyond it before it is reported. */
const REPORTED_PART = 0.1;
const MOST = 1e9;

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

/** Charges what a reservation uses beyond its estimate, while the work is done: at most one call a second. */
export class UsageReports {
  /** What was used, by hit. */
  readonly uses: readonly (Use & { left: number })[];
  /** Ends when the store has answered the last report. */
  sent: Promise<void> | undefined;
  private nextAt = -Infinity;

  constructor(
    private readonly decision: Decision,
    private readonly hits: readonly RuleHit[],
    private readonly engine: Engine,
  ) {
    this.uses = hits.map(() => ({ used: 0, charged: 0, confirmed: 0, left: Infinity }));
  }

  /**
   * Receives the total usage so far, with `null` where it is not known yet. Returns whether all rules still had permits when
   * the store was last called.
   */
  note(usage: Cost): boolean {
    let isDue = false;
    for (const [nth, use] of this.uses.entries()) {
      const { rule, cost } = this.hits[nth]!;
      const used = costOfRule(usage, rule) as number | null | undefined;
      if (rule.algorithm.leases) continue;
      if (typeof used === 'number' && used > use.used && used < Infinity)
        use.used = Math.min(MOST, Math.ceil(used));
      isDue ||= use.used - cost - use.charged >= Math.max(1, cost * REPORTED_PART);
    }
    if (isDue && this.engine.base.stopwatch() >= this.nextAt) this.sent = this.report();
    return this.uses.every(({ left }, nth) => left > 0 || this.hits[nth]!.shadow);
  }

  private async report(): Promise<void> {
    this.nextAt = this.engine.base.stopwatch() + REPORT_EVERY_MS;
    const charge = DecidedHit.chargeOf(this.decision);
    const charges = this.uses.flatMap((use, nth) => {
      const cost = use.used - this.hits[nth]!.cost - use.charged;
      if (cost <= 0 || !charge?.isCounted(nth)) return [];
      use.charged += cost;
      const left = (remaining: number): number => (use.left = remaining);
      return [{ ...charge.adjustment('charge', nth, cost), use, left }];
    });
    if (charges.length === 0) return;
    const made = await this.engine.store.adjust(charges).catch(() => []);
    for (const [nth, { use, cost }] of charges.entries()) {
      if (made[nth] === undefined) this.nextAt = this.engine.base.stopwatch() + UNCONFIRMED_MS;
      else if (made[nth]) use.confirmed += cost;
    }
  }
}
