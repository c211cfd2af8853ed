import { burstOption, checkRate } from '../burst.js';
import type { AlgorithmDefinition } from '../definition.js';
import { permitsIn, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import lua from './gcra.lua.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions {
  /**
   * Permits that may come at once after a pause, 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export interface GcraState {
  /** Theoretical arrival time: when the key is back at its full burst, in microseconds. */
  readonly tat: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

/**
 * The generic cell rate algorithm: permits come back one by one, evenly spread over the window.
 *
 * With T = window / limit, a hit of cost n is admitted when max(TAT, now) + n T <= now + burst T,
 * and moves TAT there (ITU-T I.371, the virtual scheduling form).
 */
export const gcra: AlgorithmDefinition<GcraOptions, GcraState, 'limit' | 'window' | 'burst'> = {
  name: 'gcra',
  parameters: ['limit', 'window', 'burst'],
  options: { burst: burstOption },
  check: checkRate,
  compile: ({ limit, window, burst = limit }) => ({ limit, window, burst }),
  prelude: rateLua,
  lua,

  step(state, now, cost, { limit, window, burst }) {
    if (limit === 0) return { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0 };

    let ahead = 0;
    let aheadPart = 0;
    if (state && state.tat >= now) {
      ahead = state.tat - now;
      aheadPart = Math.min(state.part, limit - 1);
    }

    const capacity = spanOf(burst, limit, window);
    let free = capacity.whole - ahead;
    let freePart = capacity.part - aheadPart;
    if (freePart < 0) {
      free -= 1;
      freePart += limit;
    }
    const remaining = permitsIn(free, freePart, limit, window);
    const need = spanOf(cost, limit, window);

    if (cost > remaining) {
      let retryAfter: number | null = need.whole - free;
      if (need.part > freePart) retryAfter += 1;
      if (cost > burst) retryAfter = null;
      if (aheadPart > 0) ahead += 1;
      return { allowed: false, remaining, retryAfter, resetAfter: ahead };
    }

    ahead += need.whole;
    aheadPart += need.part;
    if (aheadPart >= limit) {
      ahead += 1;
      aheadPart -= limit;
    }
    const resetAfter = aheadPart > 0 ? ahead + 1 : ahead;
    return {
      allowed: true,
      remaining: remaining - cost,
      retryAfter: 0,
      resetAfter,
      state: { tat: now + ahead, part: aheadPart },
      expiresAfter: resetAfter,
    };
  },
};
