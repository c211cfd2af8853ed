import { burstOption, checkRate } from '../burst.js';
import type { AlgorithmDefinition } from '../definition.js';
import { permitsIn, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import lua from './token-bucket.lua.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions {
  /**
   * Tokens that the bucket holds when full, 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export interface TokenBucketState {
  /** Whole tokens in the bucket. */
  readonly tokens: number;
  /** The instant up to which they have been credited, in microseconds. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

/**
 * The token bucket: a hit takes `cost` tokens from a bucket of `burst`, which gains `limit` tokens
 * a window, continuously. It starts full.
 *
 * Tokens are credited whole, and the instant moves by just the time that they took, so that nothing
 * is ever rounded away.
 */
export const tokenBucket: AlgorithmDefinition<
  TokenBucketOptions,
  TokenBucketState,
  'limit' | 'window' | 'burst'
> = {
  name: 'token-bucket',
  parameters: ['limit', 'window', 'burst'],
  options: { burst: burstOption },
  check: checkRate,
  compile: ({ limit, window, burst = limit }) => ({ limit, window, burst }),
  prelude: rateLua,
  lua,

  step(state, now, cost, { limit, window, burst }) {
    if (limit === 0) return { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0 };

    let tokens = state ? state.tokens : burst;
    let instant = state ? state.instant : now;
    let part = state ? Math.min(state.part, limit - 1) : 0;

    const earned =
      part > 0
        ? permitsIn(now - instant - 1, limit - part, limit, window)
        : permitsIn(now - instant, 0, limit, window);
    if (tokens + earned >= burst) {
      tokens = burst;
      instant = Math.max(instant, now);
      part = 0;
    } else if (earned > 0) {
      const credited = spanOf(earned, limit, window);
      tokens += earned;
      instant += credited.whole;
      part += credited.part;
      if (part >= limit) {
        instant += 1;
        part -= limit;
      }
    }

    const allowed = cost <= tokens;
    if (allowed) tokens -= cost;
    const full = spanOf(burst - tokens, limit, window);
    const resetAfter =
      tokens === burst ? 0 : instant - now + full.whole + Math.ceil((part + full.part) / limit);

    if (!allowed) {
      const wait = spanOf(cost - tokens, limit, window);
      const retryAfter = instant - now + wait.whole + Math.ceil((part + wait.part) / limit);
      return { allowed, remaining: tokens, retryAfter: cost > burst ? null : retryAfter, resetAfter };
    }
    const next = { tokens, instant, part };
    return { allowed, remaining: tokens, retryAfter: 0, resetAfter, state: next, expiresAfter: resetAfter };
  },
};
