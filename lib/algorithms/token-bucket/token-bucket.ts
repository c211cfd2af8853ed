import type { Step } from '../../contracts/algorithm.js';
import type { Duration } from '../../contracts/duration.js';
import {
  endOf,
  refundBacklog,
  isAhead,
  read,
  take,
  takeFrom,
  type Backlog,
  type BurstPace,
} from '../backlog.js';
import { BURST_EXAMPLES, burstOption, paceOf, timePart, type Capacity, type Overdrawable } from '../burst.js';
import type { AlgorithmDefinition } from '../definition.js';
import { durationOption, FLAG, integer, oneOf } from '../../contracts/options.js';
import { prefetchOption, slotOf, type Prefetchable } from '../prefetch-option.js';
import { NO_TIME, spanOf } from '../rate.js';
import { checkBucket, MEMORY, bucketPerProcess } from './bucket.js';
import { intervalBucket } from './token-bucket-interval.js';
import { warmUp } from './warm-up.js';

/** Options of `algorithm: 'token-bucket'`. */
export interface TokenBucketOptions extends Prefetchable, Overdrawable {
  /**
   * Capacity of the bucket: an integer of tokens from 1 to 1,000,000,000, or the time in which the limit adds them, such
   * as `'10s'`. A rule whose limit comes from a function needs a time.
   *
   * @default the rule's `limit`
   */
  readonly burst?: Capacity;
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

/** `empty` and `emptyPart`: the time in which a new bucket becomes full. */
type TokenBucketParameter = keyof BurstPace | 'empty' | 'emptyPart';

/**
 * The token bucket: a request takes `cost` tokens from a bucket of `burst`, to which `limit` tokens are added per
 * window, continuously or all at once after each whole window. A new bucket is full unless `initial` is set.
 *
 * The state of a bucket that is refilled continuously is the instant at which it is full, so that no time is lost to
 * rounding.
 */
export const tokenBucket: AlgorithmDefinition<TokenBucketOptions, Backlog, TokenBucketParameter> & {
  readonly queues: true;
  readonly lone: 'warmUp';
} = {
  name: 'token-bucket',
  version: 2,
  bound: 'rate',
  examples: [
    ...BURST_EXAMPLES,
    { variant: 'by the interval', rule: () => ({ refill: 'interval' }) },
    { variant: 'half full', rule: ({ limit }) => ({ initial: Math.ceil(limit / 2) }), allAtOnce: false },
    { variant: 'with a warm-up', rule: ({ windowMs }) => ({ warmUp: `${windowMs}ms` }), allAtOnce: false },
  ],
  parameters: ['limit', 'window', 'burst', 'full', 'fullPart', 'time', 'overdraft', 'empty', 'emptyPart'],
  options: {
    burst: burstOption,
    overdraft: FLAG,
    refill: oneOf('continuous', 'interval'),
    initial: integer(0, 1e9),
    warmUp: durationOption,
    prefetch: prefetchOption,
  },
  check: checkBucket,
  keyParts: (rule) => timePart(rule.burst, rule),
  capacity: ({ burst }) => burst,
  perProcess: bucketPerProcess,
  compile(rule) {
    const pace = paceOf(rule);
    const { limit, window, burst } = pace;
    const missing = burst - (rule.initial ?? burst);
    const { whole: empty, part: emptyPart } =
      limit > 0 && missing > 0 ? spanOf(missing, limit, window) : NO_TIME;
    return { ...pace, empty, emptyPart };
  },
  queues: true,
  spendBy: slotOf,
  resolve({ warmUp: warming, refill }) {
    if (warming !== undefined) return warmUp;
    return refill === 'interval' ? intervalBucket : undefined;
  },
  variants: [warmUp, intervalBucket],
  lone: 'warmUp',

  step(state, now, cost, pace, maxWait) {
    const { empty: whole, emptyPart: part } = pace;
    if (whole + part === 0) return takeFrom(state, now, cost, pace, maxWait);

    const isNew = state === undefined || endOf(state) + MEMORY <= now;
    const step = take(isNew ? { whole, part } : read(state, now, pace), now, cost, pace, maxWait);
    if (step.allowed) return { ...step, expiresAfter: step.expiresAfter + MEMORY };
    // A denial stores nothing, so that a new bucket gains no tokens.
    return isNew ? ({ ...step, retryAfter: null } satisfies Step<Backlog>) : step;
  },
  refund(state, now, cost, pace, receipt, onlyLast) {
    const next = refundBacklog(state, now, cost, pace, receipt, onlyLast);
    const isFull = pace.empty + pace.emptyPart === 0;
    return next && !isFull ? { ...next, expiresAfter: next.expiresAfter + MEMORY } : next;
  },
  isAhead,
};
