import { Logger } from '@nestjs/common';
import type { StoreFault } from '../contracts/store-fault.js';
import type { BreakerEvent, RateLimitEvents } from '../core/limiter-events.js';
import { faultOf } from '../stores/redis/fault.js';

const logger = new Logger('RateLimit');

/**
 * Logs one line for each change of a server's state, and one for each kind of error that changes none.
 *
 * @param meanwhile what requests get while the server cannot decide
 */
export function logStore(events: RateLimitEvents, meanwhile: () => string): void {
  const reported = new Set<string>();
  events.on('breaker', (event) => {
    if (event.state === 'open') reported.add(kindOf(faultOf(event.error, event.server)));
    logBreaker(event, meanwhile());
  });
  events.on('storeError', ({ error }) => {
    if (events.openCircuits.size > 0) return;
    const fault = faultOf(error, '');
    const kind = kindOf(fault);
    if (reported.has(kind)) return;
    reported.add(kind);
    logger.warn(`Redis could not decide a request (${fault.message}); this kind of error is logged once.`);
  });
}

function kindOf({ kind, code }: StoreFault): string {
  return `${kind} ${code}`;
}

function logBreaker({ state, server, error }: BreakerEvent, meanwhile: string): void {
  const redis = server === '' ? 'Redis' : `Redis at ${server}`;
  if (state === 'closed') {
    logger.log(`${redis} decides again.`);
    return;
  }
  const fault = faultOf(error, server);
  const line = `Redis could not decide (${fault.message}); until it does, ${meanwhile}.`;
  // Nobody but the operator can change what the server refuses.
  if (fault.kind === 'access' || fault.kind === 'topology') logger.error(line);
  else logger.warn(line);
}
