import type { OptionCheck } from '../contracts/options.js';
import type { Quota } from './definition.js';
import { integer } from '../contracts/option-checks.js';

const DAY = 86_400e6;
const LONGEST_REFILL_DAYS = 3660;

/** The check of the option `burst`. */
export const burstOption: OptionCheck = integer(1, 1e9);

/**
 * Returns what is wrong with a rate; `undefined` if nothing is. `limit` x `burst` must be at most 2^53 - 1, so that
 * the arithmetic stays exact, and a burst must be refilled within 3660 days.
 */
export function checkRate({ limit, window, burst = limit }: Quota & { burst?: number }): string | undefined {
  if (limit * burst > Number.MAX_SAFE_INTEGER) {
    return `limit x burst is ${limit * burst}; allowed: at most 2^53 - 1, so that no permit is lost to rounding`;
  }
  const refill = (burst * window) / limit;
  if (refill > LONGEST_REFILL_DAYS * DAY) {
    return `a burst of ${burst} takes ${Math.floor(refill / DAY)} days to come back; allowed: at most ${LONGEST_REFILL_DAYS}`;
  }
  return undefined;
}
