import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exchange } from './exchange.js';

/** Returns the hits with waiting enabled. They stop waiting when the client disconnects. */
export function waitingHits(hits: readonly RuleHit[], exchange: Exchange): readonly RuleHit[] {
  const signal = (): AbortSignal | undefined => exchange.gone();
  return hits.map((hit) => ({ ...hit, waits: true, wait: { timeoutMs: hit.rule.waitMs, signal } }));
}
