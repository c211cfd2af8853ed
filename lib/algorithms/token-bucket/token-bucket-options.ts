import type { Duration } from '../../contracts/duration.js';
import { burstOption, checkRate } from '../burst.js';
import type { Terms } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch.js';
import { durationOption, integer } from '../option-checks.js';
import { shareOf } from '../share.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions extends Prefetchable {
  /**
   * Capacity of the bucket in tokens: an integer from 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
  /**
   * `'continuous'` adds tokens one by one, evenly over the window; `'interval'` adds `limit` tokens after each
   * whole window, which starts with the request that takes from a full bucket.
   * @default 'continuous'
   */
  readonly refill?: 'continuous' | 'interval';
  /**
   * Tokens in the bucket of a new subject: an integer from the rule's `cost` to `burst`. A subject counts as new again
   * a day after its bucket became full.
   * @default the rule's `burst`
   */
  readonly initial?: number;
  /**
   * Time in which the rate rises from a third to the full rate after a pause, up to 366 days, as in Guava's
   * `RateLimiter.create(limit, warmUp)`. It replaces the burst and cannot be combined with other options.
   * @default no warm-up
   */
  readonly warmUp?: Duration;
}

export type TokenBucketParameter = 'limit' | 'window' | 'burst' | 'interval' | 'initial';

/** The option checks and the parameters of a rule without `warmUp`. */
export const tokenBucketTerms: Terms<TokenBucketOptions, TokenBucketParameter> = {
  parameters: ['limit', 'window', 'burst', 'interval', 'initial'],
  options: {
    burst: burstOption,
    refill: {
      allowed: '"continuous" or "interval"',
      accepts: (value) => value === 'continuous' || value === 'interval',
    },
    initial: integer(0, 1e9),
    warmUp: durationOption,
    prefetch: prefetchOption,
  },
  check({ limit, window, burst = limit, initial = burst, cost = 1, refill, prefetch }) {
    if (prefetch && refill === 'interval') return `prefetch: allowed only with the refill "continuous"`;
    if (initial > burst) return `initial is ${initial}; allowed: at most the burst, ${burst}`;
    if (initial < Math.min(cost, burst)) {
      return `initial is ${initial}; allowed: at least the cost, ${cost}, since a new subject's denial starts no bucket`;
    }
    return checkRate({ limit, window, burst });
  },
  capacity: ({ burst }) => burst,
  share({ limit, burst = limit, initial = burst, cost = 1 }, processes) {
    const share = shareOf(burst, processes);
    // A denial stores no bucket, so that one that starts with fewer tokens than the cost would never fill up.
    return { burst: share, initial: Math.min(share, Math.max(cost, Math.floor(initial / processes))) };
  },
  compile: ({ limit, window, burst = limit, refill, initial = burst }) => ({
    limit,
    window,
    burst,
    interval: refill === 'interval' ? 1 : 0,
    initial,
  }),
};
