import { burstOption, checkRate } from '../burst.js';
import type { Terms } from '../definition.js';

/** Options of `algorithm: 'gcra'`. */
export interface GcraOptions {
  /**
   * Permits that may come at once after a pause, an integer from 1 to 1,000,000,000.
   * @default the rule's `limit`
   */
  readonly burst?: number;
}

export type GcraParameter = 'limit' | 'window' | 'burst';

/** What a rule may say, and its numbers for script and twin. */
export const gcraTerms: Terms<GcraOptions, GcraParameter> = {
  parameters: ['limit', 'window', 'burst'],
  options: { burst: burstOption },
  check: checkRate,
  capacity: ({ burst }) => burst,
  compile: ({ limit, window, burst = limit }) => ({ limit, window, burst }),
};
