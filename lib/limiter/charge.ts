import type { Adjustment, Hit, HitResult } from '../contracts/store.js';
import { adjustmentOf } from '../contracts/undo.js';

/** What a decision has charged, until it is refunded, settled or held. */
export class Charge {
  private open: Set<number> | undefined;

  constructor(
    private readonly hits: readonly Hit[],
    private readonly results: readonly HitResult[],
  ) {}

  /**
   * Takes hits out of the charge, each once, as adjustments of a kind. Hits without cost are not taken unless
   * they are meant: only a settlement can still charge for them.
   */
  take(kind: Adjustment['kind'], isMeant: (hit: Hit, index: number) => boolean = isPaid): Adjustment[] {
    this.open ??= new Set(this.hits.keys());
    const taken: Adjustment[] = [];
    for (const index of this.open) {
      const [hit, result] = [this.hits[index]!, this.results[index]!];
      if (!isCounted(result) || !isMeant(hit, index)) continue;
      this.open.delete(index);
      taken.push(adjustmentOf(hit, result, kind));
    }
    return taken;
  }
}

/** Whether a hit has taken permits. */
export function isPaid({ cost }: Hit): boolean {
  return cost > 0;
}

/** A shadow rule that denied was not charged, nor was what the fallback allowed without counting. */
function isCounted({ allowed, fallback }: HitResult): boolean {
  return allowed && (fallback === undefined || fallback === 'local');
}

/** The adjustments by which charges become what the work has cost in the end. */
export function settlement(charged: readonly Adjustment[], actual: number): Adjustment[] {
  return charged.flatMap((each): Adjustment[] => {
    if (actual < each.cost) return [{ ...each, kind: 'refund', cost: each.cost - actual }];
    return actual > each.cost ? [{ ...each, kind: 'charge', cost: actual - each.cost }] : [];
  });
}
