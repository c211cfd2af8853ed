import { join, leave, lengthOf, read, waitFor, write, type Backlog } from '../backlog.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { minus, permitsIn, spanOf, type Span } from '../rate.js';
import {
  leakyBucketTerms,
  type LeakyBucketOptions,
  type LeakyBucketParameter,
} from './leaky-bucket-options.js';
import lua from './leaky-bucket.lua.js';

export type { LeakyBucketOptions };

/**
 * The leaky bucket as a queue: requests proceed one by one at the rate, each delayed until its turn; a request that
 * does not fit into the queue is denied. Equivalent to nginx's `limit_req` with `burst` and `delay`.
 */
export const leakyBucket: AlgorithmDefinition<LeakyBucketOptions, Backlog, LeakyBucketParameter> & {
  readonly queues: true;
} = {
  name: 'leaky-bucket',
  ...leakyBucketTerms,
  queues: true,
  lua,

  step(state, now, cost, parameters, patience = 0) {
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

    const isFull = cost > remaining && (cost > capacity || patience === 0);
    if (patience < Infinity && (isFull || (patience > 0 && delay > patience))) {
      let retryAfter: number | null = null;
      if (cost <= capacity && patience > 0) retryAfter = delay - patience;
      else if (cost <= capacity) {
        const need = spanOf(Math.max(0, cost - 1), rate.limit, rate.window);
        const ownNeed = slowFor === 0 ? need : spanOf(Math.max(0, cost - 1), limit, window);
        retryAfter = wait(minus(longest, need, rate.limit), minus(own.longest, ownNeed, limit));
      }
      return { allowed: false, remaining, retryAfter, resetAfter: lengthOf(queue, parameters), delay: 0 };
    }

    const joined = join(queue, spanOf(cost, rate.limit, rate.window));
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter: lengthOf(joined, parameters),
      delay,
      ...write(now, joined),
    };
  },

  /** Refunds only the last charge in the queue: the delays of later requests have been returned already. */
  refund(state, now, cost, parameters, receipt) {
    if (parameters.limit === 0) return undefined;
    const queue = read(state, now, parameters);
    if (now + lengthOf(queue, parameters) !== receipt || receipt <= now) return undefined;
    return write(now, leave(queue, spanOf(cost, queue.rate.limit, queue.rate.window)));
  },
};
