import { parseDuration } from '../../contracts/duration.js';
import { isAhead, read, refundBacklog, write, type Backlog, type Pace } from '../backlog.js';
import { capacityOf, capacityOption, checkRate, permitsOf, timePart, type Capacity } from '../burst.js';
import { allow, deny, NEVER, perProcess, type AlgorithmDefinition } from '../definition.js';
import { integer } from '../../contracts/options.js';
import { extend, isLonger, minus, permitsIn, roundUp, spanOf, type Span } from '../rate.js';

/** Options of `algorithm: 'leaky-bucket'`, modelled on `limit_req` of nginx. */
export interface LeakyBucketOptions {
  /**
   * Permits that can wait in the queue: an integer from 0 to 1,000,000,000 (nginx: `burst`), or the time in which the
   * limit adds them, such as `'10s'`. A rule whose limit comes from a function needs a time.
   * @default the rule's `limit`
   */
  readonly queue?: Capacity;
  /**
   * Number of queued permits that are not delayed: an integer from 0 to `queue` (nginx: `delay`; a value equal to
   * `queue` corresponds to `nodelay`).
   * @default 0
   */
  readonly delayAfter?: number;
}

type LeakyBucketParameter =
  keyof Pace | 'capacity' | 'longest' | 'longestPart' | 'delayAfter' | 'delayAfterPart';

/**
 * The leaky bucket as a queue: requests proceed one by one at the rate, each delayed until its turn; a request that
 * does not fit into the queue is denied. Equivalent to nginx's `limit_req` with `burst` and `delay`.
 */
export const leakyBucket: AlgorithmDefinition<LeakyBucketOptions, Backlog, LeakyBucketParameter> & {
  readonly queues: true;
} = {
  name: 'leaky-bucket',
  version: 2,
  bound: 'rate',
  examples: [
    { variant: '', rule: ({ limit }) => ({ queue: limit - 1 }) },
    {
      variant: 'with delayAfter',
      rule: ({ limit }) => ({ queue: limit - 1, delayAfter: Math.floor(limit / 2) }),
    },
    {
      variant: 'with maxWait',
      rule: ({ limit, windowMs }) => ({
        queue: 2 * limit,
        maxWait: `${Math.max(1, Math.floor((windowMs / limit) * (limit - 1)))}ms`,
      }),
    },
  ],
  parameters: [
    'limit',
    'window',
    'capacity',
    'longest',
    'longestPart',
    'delayAfter',
    'delayAfterPart',
    'time',
  ],
  options: { queue: capacityOption(0), delayAfter: integer(0, 1e9) },
  check(rule) {
    const { delayAfter = 0 } = rule;
    const queue = permitsOf(rule.queue, rule);
    if (delayAfter > queue) return `delayAfter is ${delayAfter}; allowed: at most the queue, ${queue}`;
    return checkRate({ ...rule, burst: queue + 1 });
  },
  keyParts: (rule) => timePart(rule.queue, rule),
  capacity: ({ capacity }) => capacity,
  /** Divides one permit more than the options count: the one that proceeds without waiting. */
  perProcess: ({ limit, queue = limit, delayAfter = 0 }, processes) => ({
    queue: typeof queue === 'number' ? perProcess(queue + 1, processes) - 1 : capacityOf(queue, processes),
    delayAfter: perProcess(delayAfter + 1, processes) - 1,
  }),
  compile(rule) {
    const { limit, window, delayAfter = 0, maxWait } = rule;
    // Every state has the instant at which it was written: the requests that wait may be further ahead than any time.
    const pace = { limit, window, time: -1 };
    if (limit === 0) {
      return { ...pace, capacity: 0, longest: 0, longestPart: 0, delayAfter: 0, delayAfterPart: 0 };
    }
    const atOnce = spanOf(delayAfter, limit, window);
    const places = spanOf(permitsOf(rule.queue, rule), limit, window);
    const heldTo = { whole: atOnce.whole + (parseDuration(maxWait) ?? Infinity), part: atOnce.part };
    const longest = isLonger(places, heldTo) ? heldTo : places;
    return {
      ...pace,
      capacity: permitsIn(longest, limit, window) + 1,
      longest: longest.whole,
      longestPart: longest.part,
      delayAfter: atOnce.whole,
      delayAfterPart: atOnce.part,
    };
  },
  queues: true,
  delays: true,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, capacity } = parameters;
    if (limit === 0) return NEVER;

    const ahead = read(state, now, parameters);
    const longest = { whole: parameters.longest, part: parameters.longestPart };
    const delayAfter = { whole: parameters.delayAfter, part: parameters.delayAfterPart };
    const room = minus(longest, ahead, limit);
    const remaining = room.whole < 0 ? 0 : permitsIn(room, limit, window) + 1;
    const waitFor = (most: Span): number => Math.max(0, roundUp(minus(ahead, most, limit)));
    const delay = cost > 0 ? waitFor(delayAfter) : 0;

    const isFull = cost > remaining && (cost > capacity || maxWait === 0);
    if (maxWait < Infinity && (isFull || (maxWait > 0 && delay > maxWait))) {
      if (cost > capacity) return deny(remaining, null, roundUp(ahead));
      const most = minus(longest, spanOf(cost - 1, limit, window), limit);
      return deny(remaining, maxWait > 0 ? delay - maxWait : waitFor(most), roundUp(ahead));
    }

    const need = spanOf(cost, limit, window);
    const { state: next, expiresAfter } = write(now, extend(ahead, need, limit), parameters);
    return allow(Math.max(0, remaining - cost), delay, expiresAfter, next, expiresAfter);
  },

  /** Refunds only the last charge in the queue: the delays of later requests have been returned already. */
  refund: (state, now, cost, parameters, receipt) =>
    refundBacklog(state, now, cost, parameters, receipt, true),
  isAhead,
};
