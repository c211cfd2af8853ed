import { NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { slotOf } from '../prefetch.js';
import { expiryOf, fill, instantWith, take, type TokenBucketState } from './bucket.js';
import { giveBack } from './refill.js';
import {
  tokenBucketTerms,
  type TokenBucketOptions,
  type TokenBucketParameter,
} from './token-bucket-options.js';
import lua from './token-bucket.lua.js';
import { warmUp } from './warm-up.js';

export type { TokenBucketOptions, TokenBucketState };

type Parameters = Numbers<TokenBucketParameter>;

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
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, burst, initial } = parameters;
    if (limit === 0) return NEVER;

    const known = fill(state, now, parameters);
    const bucket = known ?? { used: burst - initial, instant: now, part: 0, refill: parameters, until: 0 };
    const { used } = bucket;
    let wait = 0;
    if (cost > Math.max(0, burst - used)) {
      wait = used > burst - cost ? instantWith(burst - cost, bucket, parameters) - now : 0;
      if (patience < Infinity && (cost > burst || wait > patience)) {
        // A denial stores nothing, so that a new bucket stays as it is.
        const retryAfter = cost > burst || !known ? null : wait - patience;
        const resetAfter = fullAfter(bucket, now, parameters);
        return { allowed: false, remaining: Math.max(0, burst - used), retryAfter, resetAfter, delay: 0 };
      }
    }

    const next = take(bucket, cost, parameters);
    return {
      allowed: true,
      remaining: Math.max(0, burst - next.used),
      retryAfter: 0,
      resetAfter: fullAfter(next, now, parameters),
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
    if (parameters.limit === 0) return undefined;
    const bucket = fill(state, now, parameters);
    if (!bucket) return undefined;
    const endsAt = now + fullAfter(bucket, now, parameters);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    const { used, refill } = bucket;
    let next = { ...bucket, used: used - cost };
    if (endsAt !== receipt) {
      const { missing, credited } = giveBack(cost, Number(receipt) - now, now, used, bucket, refill);
      next = { ...bucket, ...credited, used: missing };
    }
    if (next.used <= 0) next = { ...next, used: 0, instant: Math.max(next.instant, now), part: 0 };
    return { state: next, expiresAfter: expiryOf(next, now, parameters) };
  },
};

/** How long until the bucket is full. */
function fullAfter(bucket: TokenBucketState, now: number, parameters: Parameters): number {
  return bucket.used > 0 ? instantWith(0, bucket, parameters) - now : 0;
}
