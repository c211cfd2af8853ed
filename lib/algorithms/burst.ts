import type { OptionCheck, Quota } from './definition.js';

const LONGEST_REFILL = 3660 * 86_400e6;

/** `burst`, as the algorithms that refill at a rate take it. */
export const burstOption: OptionCheck = {
  allowed: 'an integer from 1 to 1000000000',
  accepts: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1e9,
};

/** Refuses a rate whose arithmetic would leave the integers that a double holds exactly. */
export function checkRate({ limit, window, burst = limit }: Quota & { burst?: number }): string | undefined {
  if (limit * burst > Number.MAX_SAFE_INTEGER) {
    return `limit x burst is ${limit * burst}; allowed: at most 2^53 - 1, so that no permit is lost to rounding`;
  }
  if ((burst * window) / limit > LONGEST_REFILL) {
    return `a burst of ${burst} takes ${Math.floor((burst * window) / limit / 86_400e6)} days to come back; allowed: at most 3660`;
  }
  return undefined;
}
