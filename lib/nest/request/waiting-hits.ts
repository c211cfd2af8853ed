import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exchange } from './exchange.js';

/**
 * Returns the hits with waiting enabled. They stop waiting when the client disconnects.
 *
 * @param timeoutMs milliseconds, from 1
 */
export function waitingHits(
  hits: readonly RuleHit[],
  exchange: Exchange,
  timeoutMs: number,
): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({
    ...hit,
    ...(hit.lease !== undefined && { waits: true }),
    wait: { timeoutMs, signal },
  }));
}
