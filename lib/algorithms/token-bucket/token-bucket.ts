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
 * The token bucket: a request takes `cost` tokens from a bucket of `burst`, to which `limit` tokens are added per
 * window, continuously or all at once after each whole window. A new bucket is full unless `initial` is set.
 *
 * Only whole tokens are credited, and the credited instant advances by exactly the time that they took, so that no
 * time is lost to rounding.
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
        // A denial stores nothing, so that a new bucket gains no tokens.
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
   * A charge expires gradually as the bucket fills: after later charges, at most what can be left of it is refunded.
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

/** Returns the time until the bucket is full. */
function fullAfter(bucket: TokenBucketState, now: number, parameters: Parameters): number {
  return bucket.used > 0 ? instantWith(0, bucket, parameters) - now : 0;
}
