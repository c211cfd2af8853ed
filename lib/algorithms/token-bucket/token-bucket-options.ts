import type { Duration } from '../../contracts/duration.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions {
  /**
   * Tokens that the bucket holds when full, 1 to 1,000,000,000.
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
   * to its full rate (Guava: `RateLimiter.create(limit, warmUp)`). Goes with none of the other options.
   * @default no warm-up
   */
  readonly warmUp?: Duration;
}
