import { parseDuration, type Duration } from '../../contracts/duration.js';
import { checkRate } from '../burst.js';
import type { Terms } from '../definition.js';
import { durationOption, integer } from '../option-checks.js';
import { isLonger, permitsIn, spanOf } from '../rate.js';
import { shareOf } from '../share.js';

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
   * The longest that a hit may be held back, up to 366 days; one that would be held longer is denied.
   * @default as long as `burst` takes
   */
  readonly maxDelay?: Duration;
}

export type LeakyBucketParameter =
  'limit' | 'window' | 'capacity' | 'longest' | 'longestPart' | 'undelayed' | 'undelayedPart';

/** What a rule may say, and its numbers for script and twin. */
export const leakyBucketTerms: Terms<LeakyBucketOptions, LeakyBucketParameter> = {
  parameters: ['limit', 'window', 'capacity', 'longest', 'longestPart', 'undelayed', 'undelayedPart'],
  options: { burst: integer(0, 1e9), undelayed: integer(0, 1e9), maxDelay: durationOption },
  check({ limit, window, burst = limit, undelayed = 0 }) {
    if (undelayed > burst) return `undelayed is ${undelayed}; allowed: at most the burst, ${burst}`;
    return checkRate({ limit, window, burst: burst + 1 });
  },
  capacity: ({ capacity }) => capacity,
  /** The permit whose turn it is counts as well. */
  share: ({ limit, burst = limit, undelayed = 0 }, processes) => ({
    burst: shareOf(burst + 1, processes) - 1,
    undelayed: shareOf(undelayed + 1, processes) - 1,
  }),
  compile({ limit, window, burst = limit, undelayed = 0, maxDelay }) {
    if (limit === 0) {
      return { limit, window, capacity: 0, longest: 0, longestPart: 0, undelayed: 0, undelayedPart: 0 };
    }
    const atOnce = spanOf(undelayed, limit, window);
    const places = spanOf(burst, limit, window);
    const heldTo = { whole: atOnce.whole + (parseDuration(maxDelay) ?? Infinity), part: atOnce.part };
    const longest = isLonger(places, heldTo) ? heldTo : places;
    return {
      limit,
      window,
      capacity: permitsIn(longest, limit, window) + 1,
      longest: longest.whole,
      longestPart: longest.part,
      undelayed: atOnce.whole,
      undelayedPart: atOnce.part,
    };
  },
};
