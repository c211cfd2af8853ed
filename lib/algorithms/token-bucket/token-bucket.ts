import type { Duration } from '../../contracts/duration.js';
import { burstOption, checkRate } from '../burst.js';
import type { AlgorithmDefinition, Numbers } from '../definition.js';
import { durationOption, integer } from '../../contracts/option-checks.js';
import { overdraftOption, type Overdrawable } from '../overdraft.js';
import { inheriting, inheritOption, scaleCount, type Inheriting, type Scale } from '../proportional.js';
import { scalePart } from '../scale-part.js';
import { prefetchOption, slotOf, type Prefetchable } from '../prefetch.js';
import { mostOwed } from '../rate.js';
import { shareOf } from '../share.js';
import { allow, deny, NEVER } from '../result.js';
import { expiryOf, fill, instantWith, take, type TokenBucketState } from './bucket.js';
import { refundTokens } from './refill.js';
import { tokenBucketExamples } from './token-bucket.examples.js';
import { warmUp } from './warm-up.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions extends Prefetchable, Inheriting, Overdrawable {
  /**
   * Capacity of the bucket in tokens: an integer from 1 to 1,000,000,000.
   *
   * @default the rule's `limit`
   */
  readonly burst?: number;
  /**
   * `'continuous'` adds tokens one by one, evenly over the window; `'interval'` adds `limit` tokens after each
   * whole window, which starts with the request that takes from a full bucket.
   *
   * @default 'continuous'
   */
  readonly refill?: 'continuous' | 'interval';
  /**
   * Tokens in the bucket of a new subject: an integer from the rule's `cost` to `burst`. A subject counts as new again
   * a day after its bucket became full.
   *
   * @default the rule's `burst`
   */
  readonly initial?: number;
  /**
   * Time in which the rate rises from a third to the full rate after a pause, up to 366 days, as in Guava's
   * `RateLimiter.create(limit, warmUp)`. It replaces the burst and cannot be combined with other options.
   *
   * @default no warm-up
   */
  readonly warmUp?: Duration;
}

type TokenBucketParameter = 'limit' | 'window' | 'burst' | 'interval' | 'initial' | 'overdraft';

type Parameters = Numbers<TokenBucketParameter>;

/**
 * Scales the missing tokens, rounded up. What is rounded up is credited as time, so that nothing is lost if processes
 * with different limits alternate.
 */
const scale: Scale<TokenBucketState> = (state, from, to) => {
  const { interval, limit } = state.refill;
  const window = state.refill.window * (from / limit);
  const used = scaleCount(state.used, from, to);
  const { instant, part } = scalePart(state, limit, to, window);
  const surplus = interval === 1 ? 0 : used * from - state.used * to;
  const credit = surplus > 0 ? Math.max(0, Math.ceil((surplus / from) * (window / to)) - 1) : 0;
  return {
    used,
    instant: instant - credit,
    part,
    refill: { limit: to, window, interval },
    until: state.until,
  };
};

/**
 * The token bucket: a request takes `cost` tokens from a bucket of `burst`, to which `limit` tokens are added per
 * window, continuously or all at once after each whole window. A new bucket is full unless `initial` is set.
 *
 * Only whole tokens are credited, and the credited instant advances by exactly the time that they took, so that no
 * time is lost to rounding.
 */
export const tokenBucket: AlgorithmDefinition<TokenBucketOptions, TokenBucketState, TokenBucketParameter> & {
  readonly queues: true;
  readonly lone: 'warmUp';
} = inheriting<
  TokenBucketOptions,
  TokenBucketState,
  TokenBucketParameter,
  { readonly queues: true; readonly lone: 'warmUp' }
>(scale, {
  name: 'token-bucket',
  bound: 'rate',
  examples: tokenBucketExamples,
  parameters: ['limit', 'window', 'burst', 'interval', 'initial', 'overdraft'],
  options: {
    burst: burstOption,
    overdraft: overdraftOption,
    refill: {
      allowed: '"continuous" or "interval"',
      accepts: (value) => value === 'continuous' || value === 'interval',
    },
    initial: integer(0, 1e9),
    warmUp: durationOption,
    prefetch: prefetchOption,
    inherit: inheritOption,
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
  compile: ({ limit, window, burst = limit, refill, initial = burst, overdraft = false }) => ({
    limit,
    window,
    burst,
    interval: refill === 'interval' ? 1 : 0,
    initial,
    overdraft: Number(overdraft),
  }),
  resolve: (rule) => (rule.warmUp === undefined ? undefined : warmUp),
  variants: [warmUp],
  lone: 'warmUp',
  queues: true,
  spendBy: slotOf,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, burst, initial, overdraft } = parameters;
    if (limit === 0) return NEVER;

    const known = fill(state, now, parameters);
    const bucket = known ?? { used: burst - initial, instant: now, part: 0, refill: parameters, until: 0 };
    const { used } = bucket;
    let wait = 0;
    if (cost > Math.max(0, burst - used)) {
      const overdraws = cost > burst && overdraft === 1 && maxWait > 0 && cost < mostOwed(bucket.refill) / 2;
      const mostUsed = overdraws ? 0 : burst - cost;
      wait = used > mostUsed ? instantWith(mostUsed, bucket, parameters) - now : 0;
      const isNever = cost > burst && !overdraws;
      if (maxWait < Infinity && (isNever || wait > maxWait)) {
        // A denial stores nothing, so that a new bucket gains no tokens.
        const retryAfter = isNever || !known ? null : wait - maxWait;
        const resetAfter = fullAfter(bucket, now, parameters);
        return deny(Math.max(0, burst - used), retryAfter, resetAfter);
      }
    }

    const next = take(bucket, cost, parameters);
    const resetAfter = fullAfter(next, now, parameters);
    return allow(Math.max(0, burst - next.used), wait, resetAfter, next, expiryOf(next, now, parameters));
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
      const { missing, credited } = refundTokens(cost, Number(receipt) - now, now, used, bucket, refill);
      next = { ...bucket, ...credited, used: missing };
    }
    if (next.used <= 0) next = { ...next, used: 0, instant: Math.max(next.instant, now), part: 0 };
    return { state: next, expiresAfter: expiryOf(next, now, parameters) };
  },
});

/** Returns the time until the bucket is full. */
function fullAfter(bucket: TokenBucketState, now: number, parameters: Parameters): number {
  return bucket.used > 0 ? instantWith(0, bucket, parameters) - now : 0;
}
