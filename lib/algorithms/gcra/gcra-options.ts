import { burstOption, checkRate } from '../burst.js';
import type { Terms } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch.js';
import { NO_TIME, spanOf } from '../rate.js';
import { shareOf } from '../share.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions extends Prefetchable {
  /**
   * Permits that can be taken at once after a pause: an integer from 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export type GcraParameter = 'limit' | 'window' | 'burst' | 'full' | 'fullPart';

/** The option checks and the parameters of a rule. */
export const gcraTerms: Terms<GcraOptions, GcraParameter> = {
  parameters: ['limit', 'window', 'burst', 'full', 'fullPart'],
  options: { burst: burstOption, prefetch: prefetchOption },
  check: checkRate,
  capacity: ({ burst }) => burst,
  share: ({ limit, burst = limit }, processes) => ({ burst: shareOf(burst, processes) }),
  compile({ limit, window, burst = limit }) {
    const { whole: full, part: fullPart } = limit > 0 ? spanOf(burst, limit, window) : NO_TIME;
    return { limit, window, burst, full, fullPart };
  },
};
