import { parseDuration, type Duration } from '../../contracts/duration.js';
import type { Terms } from '../definition.js';
import { durationOption } from '../option-checks.js';

/** Options of `algorithm: 'concurrency'`, which has no window. */
export interface ConcurrencyOptions {
  /**
   * How long permits outlive a holder that died, up to 366 days. While it lives it renews them.
   * @default '30s'
   */
  readonly lease?: Duration;
}

export type ConcurrencyParameter = 'limit' | 'lease';

const DEFAULT_LEASE = 30e6;
const MOST_HELD = 10_000;

/** What a rule may say, and its numbers for script and twin. */
export const concurrencyTerms: Terms<ConcurrencyOptions, ConcurrencyParameter> = {
  parameters: ['limit', 'lease'],
  options: { lease: durationOption },
  check({ limit }) {
    if (limit <= MOST_HELD) return undefined;
    return `limit is ${limit}; allowed: at most ${MOST_HELD} permits held at a time`;
  },
  compile: ({ limit, lease }) => ({ limit, lease: parseDuration(lease) ?? DEFAULT_LEASE }),
};
