import { HttpException } from '@nestjs/common';
import { responseSignal } from '../../http/response-end.js';
import type { RuleHit } from '../../rules/rule-hit.js';
import type { Exchange } from './exchange.js';

/** What Node answers itself when a client is gone (nginx's 499). */
const CLIENT_CLOSED_REQUEST = 499;

/** Returns hits that wait for their permits, until the client disconnects. */
export function waitingHits(hits: readonly RuleHit[], { response }: Exchange): readonly RuleHit[] {
  const hungUp = (): unknown => new HttpException('Client Closed Request', CLIENT_CLOSED_REQUEST);
  const signal = (): AbortSignal | undefined => (response ? responseSignal(response, hungUp) : undefined);
  return hits.map((hit) => ({ ...hit, waits: true, wait: { timeoutMs: hit.rule.waitMs, signal } }));
}
