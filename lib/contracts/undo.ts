import { adjustmentOf, type DecideOptions, type Hit, type HitResult, type Store } from './store.js';

/**
 * Refunds the charged hits of a request that is denied by another hit. Returns the results after the refunds.
 *
 * @param isDecided whether a hit is charged if its result is allowed
 * @param within deadline in milliseconds for the refunds, and for the decisions after them
 */
export async function undo<H extends Hit>(
  store: Pick<Store<H>, 'adjust' | 'decide'>,
  hits: readonly H[],
  results: readonly HitResult[],
  isDecided: (hit: H) => boolean,
  { within, peek = false }: Pick<DecideOptions, 'peek'> & Required<Pick<DecideOptions, 'within'>>,
): Promise<HitResult[]> {
  const isCharged = (hit: H, index: number): boolean => isDecided(hit) && results[index]!.allowed;
  const refunds = hits.flatMap((hit, index) =>
    isCharged(hit, index) && hit.cost > 0 && !peek ? [adjustmentOf(hit, results[index]!, 'refund')] : [],
  );
  const refunded = refunds.length > 0 ? store.adjust(refunds, { within }) : undefined;
  // These follow the refunds on the same connections, so that they see them.
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
  // The store retries failed refunds and reports those that it gives up.
  await Promise.resolve(refunded).catch(() => undefined);
  return Promise.all(after);
}
