import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exchange } from './exchange.js';

/**
 * Returns the hits with waiting enabled. They stop waiting when the client disconnects, and follow live changes.
 *
 * @param maxWaitMs milliseconds, from 1
 * @param current returns the hits that the request would have if it arrived now
 */
export function waitingHits(
  hits: readonly RuleHit[],
  exchange: Exchange,
  maxWaitMs: number,
  current: () => Promise<readonly RuleHit[]>,
): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({
    ...hit,
    ...(hit.lease !== undefined && { waits: true }),
    wait: { maxWaitMs, signal, current },
  }));
}
