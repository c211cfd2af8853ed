import type { DecideOptions, Adjustment, Hit, HitResult, Store } from './store.js';

/** Whether a request is denied by the results of its hits. */
export function isDenied(hits: readonly Hit[], results: readonly HitResult[]): boolean {
  for (let index = 0; index < hits.length; index += 1) {
    if (!results[index]!.allowed && !hits[index]!.shadow) return true;
  }
  return false;
}

/** The adjustment of what a hit was charged. */
export function adjustmentOf(hit: Hit, result: HitResult, kind: Adjustment['kind']): Adjustment {
  const { key, algorithm, block, cost } = hit;
  const { now, resetAfter, source, share } = result;
  const parameters = share?.parameters ?? hit.parameters;
  return { key, algorithm, block, cost, parameters, kind, receipt: hit.lease ?? now + resetAfter, source };
}

/**
 * Refunds hits that were charged although another one of their request is denied, and returns the results
 * after that.
 *
 * @param isDecided whether a hit was charged if it was allowed
 * @param within milliseconds for both
 */
export async function undo<H extends Hit>(
  store: Pick<Store<H>, 'adjust' | 'decide'>,
  hits: readonly H[],
  results: readonly HitResult[],
  isDecided: (hit: H) => boolean,
  { within }: Required<Pick<DecideOptions, 'within'>>,
): Promise<HitResult[]> {
  const isCharged = (hit: H, index: number): boolean => isDecided(hit) && results[index]!.allowed;
  const refunds = hits.flatMap((hit, index) =>
    isCharged(hit, index) && hit.cost > 0 ? [adjustmentOf(hit, results[index]!, 'refund')] : [],
  );
  const refunded = refunds.length > 0 ? store.adjust(refunds, { within }) : undefined;
  // Sent behind the refunds, over the same connections.
  const after = hits.map(async (hit, index): Promise<HitResult> => {
    const result = results[index]!;
    if (!isCharged(hit, index)) return result;
    try {
      const [now] = await store.decide([hit], { dryRun: true, within });
      return now === undefined || now.unavailable !== undefined ? result : now;
    } catch {
      return result;
    }
  });
  // A refund that fails is retried, or reported.
  await Promise.resolve(refunded).catch(() => undefined);
  return Promise.all(after);
}
