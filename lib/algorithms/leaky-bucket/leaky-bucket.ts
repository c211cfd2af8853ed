import { read, write, type Backlog } from '../backlog.js';
import backlogLua from '../backlog.lua.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { minus, NO_TIME, permitsIn, plus, roundUp, spanOf, type Span } from '../rate.js';
import rateLua from '../rate.lua.js';
import {
  leakyBucketTerms,
  type LeakyBucketOptions,
  type LeakyBucketParameter,
} from './leaky-bucket-options.js';
import lua from './leaky-bucket.lua.js';

export type { LeakyBucketOptions };

/** A span less another, in whole microseconds rounded up; at least 0. */
function beyond(span: Span, less: Span): number {
  return Math.max(0, span.whole - less.whole + (span.part > less.part ? 1 : 0));
}

/**
 * The leaky bucket as a queue: hits go on one by one at the rate, each held back until its turn, and
 * one that finds the queue full is denied. As nginx's `limit_req` with `burst` and `delay`.
 */
export const leakyBucket: AlgorithmDefinition<LeakyBucketOptions, Backlog, LeakyBucketParameter> & {
  readonly queues: true;
} = {
  name: 'leaky-bucket',
  ...leakyBucketTerms,
  queues: true,
  prelude: rateLua,
  lua: backlogLua + lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, window, capacity, longest, longestPart, undelayed, undelayedPart } = parameters;
    if (limit === 0) return NEVER;

    const queue = read(state, now, limit);
    const room = minus({ whole: longest, part: longestPart }, queue, limit);
    const remaining = room.whole < 0 ? 0 : permitsIn(room, limit, window) + 1;
    const delay = cost > 0 ? beyond(queue, { whole: undelayed, part: undelayedPart }) : 0;

    const isFull = cost > remaining && (cost > capacity || patience === 0);
    if (patience < Infinity && (isFull || (patience > 0 && delay > patience))) {
      const need = spanOf(Math.max(0, cost - 1), limit, window);
      const wait = patience > 0 ? delay - patience : beyond(need, room);
      const retryAfter = cost > capacity ? null : wait;
      return { allowed: false, remaining, retryAfter, resetAfter: roundUp(queue), delay: 0 };
    }

    const taken = spanOf(cost, limit, window);
    const { state: next, expiresAfter } = write(now, plus(queue, taken, limit));
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter: expiresAfter,
      delay,
      state: next,
      expiresAfter,
    };
  },

  /** A place is given back only while nobody waits behind it: who does has been told when to go. */
  refund(state, now, cost, { limit, window }, receipt) {
    if (limit === 0) return undefined;
    const queue = read(state, now, limit);
    if (now + roundUp(queue) !== receipt || receipt <= now) return undefined;

    const back = spanOf(cost, limit, window);
    const rest = minus(queue, back, limit);
    return write(now, rest.whole < 0 ? NO_TIME : rest);
  },
};
