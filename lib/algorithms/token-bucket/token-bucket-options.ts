import type { Duration } from '../../contracts/duration.js';
import { burstOption, checkRate } from '../burst.js';
import type { Terms } from '../definition.js';
import { leaseOption, type Leasable } from '../lease.js';
import { durationOption, integer } from '../option-checks.js';
import { shareOf } from '../share.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions extends Leasable {
  /**
   * Tokens that the bucket holds when full, an integer from 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
  /**
   * How tokens come: one by one, evenly spread over the window, or `limit` of them at once after each
   * whole window. A full bucket's window starts with the hit that takes of it.
   * @default 'continuous'
   */
  readonly refill?: 'continuous' | 'interval';
  /**
   * Tokens that the bucket of a new subject starts with, from the rule's `cost` to `burst`. A subject is
   * new again a day after its bucket was full.
   * @default the rule's `burst`
   */
  readonly initial?: number;
  /**
   * Instead of a burst: how long the bucket takes from cold, where a permit takes three times as long,
   * to its full rate (Guava: `RateLimiter.create(limit, warmUp)`), up to 366 days. Goes with none of the
   * other options.
   * @default no warm-up
   */
  readonly warmUp?: Duration;
}

export type TokenBucketParameter = 'limit' | 'window' | 'burst' | 'interval' | 'initial';

/** What a rule without `warmUp` may say, and its numbers for script and twin. */
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
    lease: leaseOption,
  },
  check({ limit, window, burst = limit, initial = burst, cost = 1, refill, lease }) {
    if (lease && refill === 'interval') return `lease: allowed only with the refill "continuous"`;
    if (initial > burst) return `initial is ${initial}; allowed: at most the burst, ${burst}`;
    if (initial < Math.min(cost, burst)) {
      return `initial is ${initial}; allowed: at least the cost, ${cost}, since a new subject's denial starts no bucket`;
    }
    return checkRate({ limit, window, burst });
  },
  capacity: ({ burst }) => burst,
  share({ limit, burst = limit, initial = burst, cost = 1 }, processes) {
    const share = shareOf(burst, processes);
    // A denial starts no bucket: one that starts below the cost would never be filled.
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
