import type { Adjustment, Hit, HitResult } from '../contracts/store.js';
import { adjustmentOf } from '../contracts/undo.js';

/** The charges of a decision that are not refunded, settled or held yet. */
export class Charge {
  private open: Set<number> | undefined;

  constructor(
    private readonly hits: readonly Hit[],
    private readonly results: readonly HitResult[],
  ) {}

  /**
   * Returns adjustments of a kind for the charges of the selected hits. Each charge is returned only once, so that it
   * cannot be refunded twice.
   *
   * @param isSelected by default, selects the hits that have taken permits; a settlement also selects those of cost 0
   */
  take(kind: Adjustment['kind'], isSelected: (hit: Hit, index: number) => boolean = isPaid): Adjustment[] {
    this.open ??= new Set(this.hits.keys());
    const taken: Adjustment[] = [];
    for (const index of this.open) {
      const [hit, result] = [this.hits[index]!, this.results[index]!];
      if (!isCounted(result) || !isSelected(hit, index)) continue;
      this.open.delete(index);
      taken.push(adjustmentOf(hit, result, kind));
    }
    return taken;
  }
}

/** Whether a hit takes permits. */
export function isPaid({ cost }: Hit): boolean {
  return cost > 0;
}

/** Whether a hit was charged: not if its shadow rule denied it, or if the fallback allowed it without counting. */
function isCounted({ allowed, fallback }: HitResult): boolean {
  return allowed && (fallback === undefined || fallback === 'local');
}
