import type { AlgorithmDefinition } from '../definition.js';
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

  step(state, now, cost, { limit, window }) {
    if (limit === 0) return { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0 };

    const log = state ?? EMPTY_LOG;
    const latest = Math.max(now, log.lastInstant);
    const base = log.firstInstantReaching(latest - window + 1) - 1;
    const baseTotal = log.total(base);
    const used = log.lastTotal - baseTotal;
    const remaining = Math.max(0, limit - used);

    if (cost > remaining) {
      const resetAfter = used > 0 ? log.lastInstant + window - now : 0;
      if (cost > limit) return { allowed: false, remaining, retryAfter: null, resetAfter };
      const freeing = log.firstTotalReaching(baseTotal + used + cost - limit, base);
      const retryAfter = log.instant(freeing) + window - now;
      return { allowed: false, remaining, retryAfter, resetAfter };
    }

    const resetAfter = cost > 0 ? latest + window - now : used > 0 ? log.lastInstant + window - now : 0;
    return {
      allowed: true,
      remaining: remaining - cost,
      retryAfter: 0,
      resetAfter,
      state: cost > 0 ? log.push(latest, log.lastTotal + cost, base) : log,
      expiresAfter: resetAfter,
    };
  },
};
