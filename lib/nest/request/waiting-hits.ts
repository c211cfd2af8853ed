import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exchange } from './exchange.js';

/** Returns hits that wait for their permits, until the client disconnects. */
export function waitingHits(hits: readonly RuleHit[], exchange: Exchange): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({ ...hit, waits: true, wait: { timeoutMs: hit.rule.waitMs, signal } }));
}
