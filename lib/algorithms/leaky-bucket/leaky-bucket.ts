import type { Next } from '../../contracts/algorithm.js';
import { checkRate } from '../burst.js';
import { DURATION_ALLOWED, parseDuration, type Duration } from '../../contracts/duration.js';
import { NEVER, type AlgorithmDefinition, type OptionCheck } from '../definition.js';
import { permitsIn, spanOf } from '../rate.js';
import rateLua from '../rate.lua.js';
import lua from './leaky-bucket.lua.js';

/** Options of `algorithm: 'leaky-bucket'`, with nginx's `limit_req` in mind. */
export interface LeakyBucketOptions {
  /**
   * Permits that may wait behind the one whose turn it is, an integer from 0 to 1,000,000,000
   * (nginx: `burst`).
   * @default the rule's `limit`
   */
  readonly burst?: number;
  /**
   * How many of those go at once instead of waiting for their turn, an integer from 0 to `burst`
   * (nginx: `delay`; the same as `burst`: `nodelay`).
   * @default 0
   */
  readonly undelayed?: number;
  /**
   * The longest that a hit may be held back; one that would be held longer is denied.
   * @default as long as `burst` takes
   */
  readonly maxDelay?: Duration;
}

export interface LeakyBucketState {
  /** The instant at which the queue is empty, in microseconds. */
  readonly empty: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

type Parameter = 'limit' | 'window' | 'capacity' | 'longest' | 'longestPart' | 'undelayed' | 'undelayedPart';

const waiting = {
  allowed: 'an integer from 0 to 1000000000',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 1e9,
} satisfies OptionCheck;

/** The state for a queue so long, and when it may be forgotten. */
function write(now: number, queue: number, part: number): Next<LeakyBucketState> {
  return { state: { empty: now + queue, part }, expiresAfter: part > 0 ? queue + 1 : queue };
}

/** A span less another, in whole microseconds rounded up; at least 0. */
function beyond(whole: number, part: number, less: number, lessPart: number): number {
  return Math.max(0, part > lessPart ? whole - less + 1 : whole - less);
}

/**
 * The leaky bucket as a queue: hits go on one by one at the rate, each held back until its turn, and
 * one that finds the queue full is denied.
 */
export const leakyBucket: AlgorithmDefinition<LeakyBucketOptions, LeakyBucketState, Parameter> & {
  readonly queues: true;
} = {
  name: 'leaky-bucket',
  parameters: ['limit', 'window', 'capacity', 'longest', 'longestPart', 'undelayed', 'undelayedPart'],
  options: {
    burst: waiting,
    undelayed: waiting,
    maxDelay: { allowed: DURATION_ALLOWED, accepts: (value) => parseDuration(value) !== undefined },
  },
  queues: true,
  check({ limit, window, burst = limit, undelayed = 0 }) {
    if (undelayed > burst) return `undelayed is ${undelayed}; allowed: at most the burst, ${burst}`;
    return checkRate({ limit, window, burst: burst + 1 });
  },
  capacity: ({ capacity }) => capacity,
  compile({ limit, window, burst = limit, undelayed = 0, maxDelay }) {
    if (limit === 0) {
      return { limit, window, capacity: 0, longest: 0, longestPart: 0, undelayed: 0, undelayedPart: 0 };
    }
    const atOnce = spanOf(undelayed, limit, window);
    const places = spanOf(burst, limit, window);
    const heldTo = { whole: atOnce.whole + (parseDuration(maxDelay) ?? Infinity), part: atOnce.part };
    const isShorter =
      heldTo.whole < places.whole || (heldTo.whole === places.whole && heldTo.part < places.part);
    const longest = isShorter ? heldTo : places;
    return {
      limit,
      window,
      capacity: permitsIn(longest.whole, longest.part, limit, window) + 1,
      longest: longest.whole,
      longestPart: longest.part,
      undelayed: atOnce.whole,
      undelayedPart: atOnce.part,
    };
  },
  prelude: rateLua,
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, window, capacity, longest, longestPart, undelayed, undelayedPart } = parameters;
    if (limit === 0) return NEVER;

    let queue = 0;
    let part = 0;
    if (state && state.empty >= now) {
      queue = state.empty - now;
      part = Math.min(state.part, limit - 1);
    }
    let room = longest - queue;
    let roomPart = longestPart - part;
    if (roomPart < 0) {
      room -= 1;
      roomPart += limit;
    }
    const remaining = room < 0 ? 0 : permitsIn(room, roomPart, limit, window) + 1;
    const delay = cost > 0 ? beyond(queue, part, undelayed, undelayedPart) : 0;

    const isFull = cost > remaining && (cost > capacity || patience === 0);
    if (patience < Infinity && (isFull || (patience > 0 && delay > patience))) {
      const need = spanOf(Math.max(0, cost - 1), limit, window);
      const wait = patience > 0 ? delay - patience : beyond(need.whole, need.part, room, roomPart);
      const retryAfter = cost > capacity ? null : wait;
      return { allowed: false, remaining, retryAfter, resetAfter: beyond(queue, part, 0, 0), delay: 0 };
    }

    const taken = spanOf(cost, limit, window);
    queue += taken.whole;
    part += taken.part;
    if (part >= limit) {
      queue += 1;
      part -= limit;
    }
    const next = write(now, queue, part);
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter: next.expiresAfter,
      delay,
      state: next.state,
      expiresAfter: next.expiresAfter,
    };
  },

  /** A place is given back only while nobody waits behind it: who does has been told when to go. */
  refund(state, now, cost, { limit, window }, receipt) {
    if (limit === 0 || state.empty < now) return undefined;
    let queue = state.empty - now;
    let part = Math.min(state.part, limit - 1);
    if (now + beyond(queue, part, 0, 0) !== receipt || receipt <= now) return undefined;

    const back = spanOf(cost, limit, window);
    queue -= back.whole;
    part -= back.part;
    if (part < 0) {
      queue -= 1;
      part += limit;
    }
    return queue < 0 ? write(now, 0, 0) : write(now, queue, part);
  },
};
