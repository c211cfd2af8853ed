import { NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { slotOf } from '../lease.js';
import { minus, plus } from '../rate.js';
import rateLua from '../rate.lua.js';
import { instantOf, mostIn, spanFor, tokensIn, waitFor, type Credited } from './refill.js';
import refillLua from './refill.lua.js';
import {
  tokenBucketTerms,
  type TokenBucketOptions,
  type TokenBucketParameter,
} from './token-bucket-options.js';
import lua from './token-bucket.lua.js';
import { warmUp } from './warm-up.js';

export type { TokenBucketOptions };

export interface TokenBucketState extends Credited {
  /** Whole tokens in the bucket; below 0 when there is debt. */
  readonly tokens: number;
}

type Parameters = Numbers<TokenBucketParameter>;

/** How long a full bucket is remembered, where a new one would not be full, in microseconds. */
const MEMORY = 86_400e6;

/** The bucket as it is now; `undefined` if it is a new one. */
function fill(
  state: TokenBucketState | undefined,
  now: number,
  parameters: Parameters,
): TokenBucketState | undefined {
  if (!state) return undefined;
  const { limit, burst, initial } = parameters;
  const { tokens, instant } = state;
  const part = Math.min(state.part, limit - 1);
  if (initial < burst && now >= instantOf(burst - tokens, { instant, part }, parameters) + MEMORY) {
    return undefined;
  }

  const elapsed = minus({ whole: now - instant, part: 0 }, { whole: 0, part }, limit);
  const earned = tokensIn(elapsed, parameters);
  if (tokens + earned >= burst) return { tokens: burst, instant: Math.max(instant, now), part: 0 };
  const credited = plus({ whole: instant, part }, spanFor(earned, parameters), limit);
  return { tokens: tokens + earned, instant: credited.whole, part: credited.part };
}

/** When the bucket may be forgotten. */
function expiryOf(bucket: TokenBucketState, now: number, parameters: Parameters): number {
  const { burst, initial } = parameters;
  if (initial === burst) return waitFor(burst - bucket.tokens, now, bucket, parameters);
  return instantOf(burst - bucket.tokens, bucket, parameters) + MEMORY - now;
}

/**
 * The token bucket: a hit takes `cost` tokens from a bucket of `burst`, which gains `limit` tokens
 * a window, continuously or all at once after each whole window. It starts full unless told otherwise.
 *
 * Tokens are credited whole, and the instant moves by just the time that they took, so that nothing
 * is ever rounded away.
 */
export const tokenBucket: AlgorithmDefinition<TokenBucketOptions, TokenBucketState, TokenBucketParameter> & {
  readonly queues: true;
} = {
  name: 'token-bucket',
  ...tokenBucketTerms,
  resolve: (rule) => (rule.warmUp === undefined ? undefined : warmUp),
  queues: true,
  spendBy: slotOf,
  prelude: rateLua,
  lua: refillLua + lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, burst, initial } = parameters;
    if (limit === 0) return NEVER;

    const known = fill(state, now, parameters);
    const bucket = known ?? { tokens: initial, instant: now, part: 0 };
    let wait = 0;
    if (cost > Math.max(0, bucket.tokens)) {
      wait = waitFor(cost - bucket.tokens, now, bucket, parameters);
      if (patience < Infinity && (cost > burst || wait > patience)) {
        // A denial stores nothing, so that a new bucket stays as it is.
        const retryAfter = cost > burst || !known ? null : wait - patience;
        const resetAfter = waitFor(burst - bucket.tokens, now, bucket, parameters);
        return { allowed: false, remaining: Math.max(0, bucket.tokens), retryAfter, resetAfter, delay: 0 };
      }
    }

    const next = { ...bucket, tokens: bucket.tokens - cost };
    return {
      allowed: true,
      remaining: Math.max(0, next.tokens),
      retryAfter: 0,
      resetAfter: waitFor(burst - next.tokens, now, next, parameters),
      delay: wait,
      state: next,
      expiresAfter: expiryOf(next, now, parameters),
    };
  },

  /**
   * A charge wears off as the bucket fills: where others have come since, no more than what can be left
   * of it is given back.
   */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, burst } = parameters;
    if (limit === 0) return undefined;
    const bucket = fill(state, now, parameters);
    if (!bucket) return undefined;
    const endsAt = now + waitFor(burst - bucket.tokens, now, bucket, parameters);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    const back = endsAt === receipt ? cost : Math.min(cost, mostIn(Number(receipt) - now, parameters));
    let next = { ...bucket, tokens: bucket.tokens + back };
    if (next.tokens >= burst) next = { tokens: burst, instant: Math.max(bucket.instant, now), part: 0 };
    return { state: next, expiresAfter: expiryOf(next, now, parameters) };
  },
};
