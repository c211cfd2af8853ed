import { parseDuration, type Duration } from '../../contracts/duration.js';
import { checkRate } from '../burst.js';
import type { Terms } from '../definition.js';
import { durationOption, integer } from '../option-checks.js';
import { isLonger, permitsIn, spanOf } from '../rate.js';
import { shareOf } from '../share.js';

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

export type LeakyBucketParameter =
  'limit' | 'window' | 'capacity' | 'longest' | 'longestPart' | 'delayAfter' | 'delayAfterPart';

/** The option checks and the parameters of a rule. */
export const leakyBucketTerms: Terms<LeakyBucketOptions, LeakyBucketParameter> = {
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
};
