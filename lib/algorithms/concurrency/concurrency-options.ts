import { parseDuration, type Duration } from '../../contracts/duration.js';
import type { Terms } from '../definition.js';
import { durationOption } from '../option-checks.js';

/** Options of `algorithm: 'concurrency'`, which has no window. */
export interface ConcurrencyOptions {
  /**
   * How long permits survive without renewal, up to 366 days. A process renews the permits that it holds, so this
   * is the time until the permits of a process that died are available again.
   * @default '30s'
   */
  readonly lease?: Duration;
}

export type ConcurrencyParameter = 'limit' | 'lease';

const DEFAULT_LEASE = 30e6;
const MOST_HELD = 10_000;

/** Maximum number of permits of one lease: they are added and removed one by one, and no call moves more. */
export const MOST_AT_ONCE = 1000;

/** The option checks and the parameters of a rule. */
export const concurrencyTerms: Terms<ConcurrencyOptions, ConcurrencyParameter> = {
  parameters: ['limit', 'lease'],
  options: { lease: durationOption },
  check({ limit, cost = 1 }) {
    if (limit > MOST_HELD) return `limit is ${limit}; allowed: at most ${MOST_HELD} permits held at a time`;
    if (cost <= MOST_AT_ONCE) return undefined;
    return `cost is ${cost}; allowed with concurrency: at most ${MOST_AT_ONCE} permits for one holder`;
  },
  compile: ({ limit, lease }) => ({ limit, lease: parseDuration(lease) ?? DEFAULT_LEASE }),
};
