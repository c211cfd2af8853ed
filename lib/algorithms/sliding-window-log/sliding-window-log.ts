import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { EMPTY_LOG, type HitLog } from './hit-log.js';
import lua from './sliding-window-log.lua.js';

/** `algorithm: 'sliding-window-log'` has no options of its own. */
export type SlidingWindowLogOptions = Record<never, never>;

/**
 * The sliding window log: remembers every admitted hit, and admits at most `limit` permits in any
 * window. Exact; its memory grows with the hits it holds, up to `limit` of them a key.
 */
export const slidingWindowLog: AlgorithmDefinition<SlidingWindowLogOptions, HitLog, 'limit' | 'window'> = {
  name: 'sliding-window-log',
  parameters: ['limit', 'window'],
  options: {},
  compile: ({ limit, window }) => ({ limit, window }),
  lua,

  step(state, now, cost, { limit, window }, patience = 0) {
    if (limit === 0) return NEVER;

    const log = state ?? EMPTY_LOG;
    const latest = Math.max(now, log.lastInstant);
    const base = log.firstInstantReaching(latest - window + 1) - 1;
    const baseTotal = log.total(base);
    const used = log.lastTotal - baseTotal;
    const remaining = Math.max(0, limit - used);

    if (cost > remaining && patience < Infinity) {
      const resetAfter = used > 0 ? log.lastInstant + window - now : 0;
      if (cost > limit) return { allowed: false, remaining, retryAfter: null, resetAfter, delay: 0 };
      const freeing = log.firstTotalReaching(baseTotal + used + cost - limit, base);
      const retryAfter = log.instant(freeing) + window - now;
      return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
    }

    const resetAfter = cost > 0 ? latest + window - now : used > 0 ? log.lastInstant + window - now : 0;
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: cost > 0 ? log.push(latest, log.lastTotal + cost, base) : log,
      expiresAfter: resetAfter,
    };
  },

  /** Takes the cost out of the hit and out of every total behind it. */
  refund(log, now, cost, { window }, receipt, onlyLast) {
    const instant = Number(receipt) - window;
    if (onlyLast || Number(receipt) <= now) return undefined;
    const index = log.firstInstantReaching(instant);
    if (log.instant(index) !== instant) return undefined;
    return { state: log.reduce(index, cost), expiresAfter: log.lastInstant + window - now };
  },
};
