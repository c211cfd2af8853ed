import { parseDuration, type Duration } from '../../contracts/duration.js';
import { leave, lengthOf, read, waitFor, write, type Backlog } from '../backlog.js';
import { checkRate } from '../burst.js';
import type { AlgorithmDefinition } from '../definition.js';
import { durationOption, integer } from '../../contracts/option-checks.js';
import { extend, isLonger, minus, permitsIn, spanOf, type Span } from '../rate.js';
import { shareOf } from '../share.js';
import { allow, deny, NEVER } from '../result.js';
import { leakyBucketExamples } from './leaky-bucket.examples.js';

/** Options of `algorithm: 'leaky-bucket'`, modelled on `limit_req` of nginx. */
export interface LeakyBucketOptions {
  /**
   * Permits that can wait in the queue: an integer from 0 to 1,000,000,000 (nginx: `burst`).
   * @default the rule's `limit`
   */
  readonly queue?: number;
  /**
   * Number of queued permits that are not delayed: an integer from 0 to `queue` (nginx: `delay`; a value equal to
   * `queue` corresponds to `nodelay`).
   * @default 0
   */
  readonly delayAfter?: number;
  /**
   * Longest delay of a request, up to 366 days. A request that would be delayed longer is denied.
   * @default the delay of the last permit in a full queue
   */
  readonly maxDelay?: Duration;
}

type LeakyBucketParameter =
  'limit' | 'window' | 'capacity' | 'longest' | 'longestPart' | 'delayAfter' | 'delayAfterPart';

/**
 * The leaky bucket as a queue: requests proceed one by one at the rate, each delayed until its turn; a request that
 * does not fit into the queue is denied. Equivalent to nginx's `limit_req` with `burst` and `delay`.
 */
export const leakyBucket: AlgorithmDefinition<LeakyBucketOptions, Backlog, LeakyBucketParameter> & {
  readonly queues: true;
} = {
  name: 'leaky-bucket',
  bound: 'rate',
  examples: leakyBucketExamples,
  parameters: ['limit', 'window', 'capacity', 'longest', 'longestPart', 'delayAfter', 'delayAfterPart'],
  options: { queue: integer(0, 1e9), delayAfter: integer(0, 1e9), maxDelay: durationOption },
  check({ limit, window, queue = limit, delayAfter = 0 }) {
    if (delayAfter > queue) return `delayAfter is ${delayAfter}; allowed: at most the queue, ${queue}`;
    return checkRate({ limit, window, burst: queue + 1 });
  },
  capacity: ({ capacity }) => capacity,
  /** Divides one permit more than the options count: the one that proceeds without waiting. */
  share: ({ limit, queue = limit, delayAfter = 0 }, processes) => ({
    queue: shareOf(queue + 1, processes) - 1,
    delayAfter: shareOf(delayAfter + 1, processes) - 1,
  }),
  compile({ limit, window, queue = limit, delayAfter = 0, maxDelay }) {
    if (limit === 0) {
      return { limit, window, capacity: 0, longest: 0, longestPart: 0, delayAfter: 0, delayAfterPart: 0 };
    }
    const atOnce = spanOf(delayAfter, limit, window);
    const places = spanOf(queue, limit, window);
    const heldTo = { whole: atOnce.whole + (parseDuration(maxDelay) ?? Infinity), part: atOnce.part };
    const longest = isLonger(places, heldTo) ? heldTo : places;
    return {
      limit,
      window,
      capacity: permitsIn(longest, limit, window) + 1,
      longest: longest.whole,
      longestPart: longest.part,
      delayAfter: atOnce.whole,
      delayAfterPart: atOnce.part,
    };
  },
  queues: true,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, capacity } = parameters;
    if (limit === 0) return NEVER;

    const queue = read(state, now, parameters);
    const { ahead, rate, slowFor } = queue;
    const own = {
      longest: { whole: parameters.longest, part: parameters.longestPart },
      delayAfter: { whole: parameters.delayAfter, part: parameters.delayAfterPart },
    };
    let { longest, delayAfter } = own;
    if (slowFor > 0) {
      // The number of permits that may wait, or proceed at once, does not depend on the rate.
      longest = spanOf(capacity - 1, rate.limit, rate.window);
      delayAfter = spanOf(permitsIn(delayAfter, limit, window), rate.limit, rate.window);
    }
    const room = minus(longest, ahead, rate.limit);
    const remaining = room.whole < 0 ? 0 : permitsIn(room, rate.limit, rate.window) + 1;
    const wait = (most: Span, ownMost: Span): number =>
      Math.max(0, waitFor(queue, parameters, most, ownMost));
    const delay = cost > 0 ? wait(delayAfter, own.delayAfter) : 0;

    const isFull = cost > remaining && (cost > capacity || maxWait === 0);
    if (maxWait < Infinity && (isFull || (maxWait > 0 && delay > maxWait))) {
      let retryAfter: number | null = null;
      if (cost <= capacity && maxWait > 0) retryAfter = delay - maxWait;
      else if (cost <= capacity) {
        const need = spanOf(Math.max(0, cost - 1), rate.limit, rate.window);
        const ownNeed = slowFor === 0 ? need : spanOf(Math.max(0, cost - 1), limit, window);
        retryAfter = wait(minus(longest, need, rate.limit), minus(own.longest, ownNeed, limit));
      }
      return deny(remaining, retryAfter, lengthOf(queue, parameters));
    }

    const need = spanOf(cost, rate.limit, rate.window);
    const joined = { ...queue, ahead: extend(ahead, need, rate.limit) };
    const next = write(now, joined);
    const resetAfter = slowFor === 0 ? next.expiresAfter : lengthOf(joined, parameters);
    return allow(Math.max(0, remaining - cost), delay, resetAfter, next.state, next.expiresAfter);
  },

  /** Refunds only the last charge in the queue: the delays of later requests have been returned already. */
  refund(state, now, cost, parameters, receipt) {
    if (parameters.limit === 0) return undefined;
    const queue = read(state, now, parameters);
    if (now + lengthOf(queue, parameters) !== receipt || receipt <= now) return undefined;
    return write(now, leave(queue, spanOf(cost, queue.rate.limit, queue.rate.window)));
  },
};
