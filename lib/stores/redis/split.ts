import type { BaseStore, DecideOptions, Hit, HitResult } from '../../contracts/store.js';
import { isDenied, undo } from '../../contracts/undo.js';
import type { Batches } from './batches.js';

/**
 * Decides hits whose keys are in several slots of a Cluster, with one call per slot in parallel. If one denies, the
 * charges of the others are refunded. docs/adr/0013-across-slots.md describes what other clients can see meanwhile.
 */
export class Split {
  /**
   * @param next decides the hits of one slot
   * @param store refunds the charges of the others, and decides them again
   * @param timeout that of the store, in milliseconds
   */
  constructor(
    private readonly next: Pick<Batches, 'decide'>,
    private readonly store: Pick<BaseStore, 'decide' | 'adjust'>,
    private readonly timeout: number,
  ) {}

  /** @returns the results; those of a slot that could not decide are `unavailable` */
  async decide(
    hits: readonly Hit[],
    parts: readonly (readonly Hit[])[],
    options: DecideOptions,
  ): Promise<readonly HitResult[]> {
    const startedAt = performance.now();
    const settled = await Promise.allSettled(parts.map((part) => this.next.decide(part, options)));
    const results = new Map<Hit, HitResult>();
    const charged = new Set<Hit>();
    for (const [nth, part] of parts.entries()) {
      const outcome = settled[nth]!;
      const ofPart = outcome.status === 'fulfilled' ? outcome.value : undefined;
      const isCharged = ofPart !== undefined && !isDenied(part, ofPart);
      for (const [index, hit] of part.entries()) {
        results.set(hit, ofPart?.[index] ?? unavailable((outcome as PromiseRejectedResult).reason));
        if (isCharged) charged.add(hit);
      }
    }
    const inOrder = hits.map((hit) => results.get(hit)!);
    const isRefused = hits.some((hit, index) => isDenial(inOrder[index]!) && !hit.shadow);
    const { dryRun = false, peek = false } = options;
    if ((dryRun && !peek) || !isRefused || charged.size === 0) return inOrder;
    const within = Math.max(1, this.timeout - (performance.now() - startedAt));
    return undo(this.store, hits, inOrder, (hit) => charged.has(hit), { within, peek });
  }
}

function isDenial({ allowed, unavailable }: HitResult): boolean {
  return !allowed && unavailable === undefined;
}

function unavailable(reason: unknown): HitResult {
  const error = reason ?? new Error('unknown');
  return {
    allowed: false,
    remaining: 0,
    retryAfter: null,
    resetAfter: 0,
    delay: 0,
    source: 'redis',
    now: 0,
    unavailable: error,
  };
}
