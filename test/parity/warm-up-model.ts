import { atLeastZero, larger, smaller, type Model } from './brute-force.js';

/**
 * Guava's line: a permit takes T = window / limit in the lower half of the stored permits, and a time that rises to 3
 * T in the upper half. A request proceeds at once if no other one is in progress.
 */
export const warmUpBucket: Model = (admitted, now, { limit, window, warmUp }) => {
  // Both in 1/limit of a microsecond.
  let free = 0n;
  let stored = warmUp;
  for (const { at, cost } of admitted) {
    stored = smaller(warmUp, stored + atLeastZero(at - ceil(free, limit)));
    free = larger(free, at * limit);
    const spent = smaller(stored, ceil(cost * window, limit));
    free += cost * window + surcharge(stored, spent, warmUp) * limit;
    stored -= spent;
  }
  return ceil(free, limit) <= now ? limit : 0n;
};

/**
 * The area between the line and that of the full rate, over the part of the stored permits that is used, in
 * microseconds: twice the mean height of a trapezium, whose line rises by 4 over a whole warm-up.
 */
function surcharge(stored: bigint, spent: bigint, warmUp: bigint): bigint {
  const height = (level: bigint) => atLeastZero(2n * level - warmUp); // The part above the middle, in half microseconds.
  const [high, low] = [height(stored), height(stored - spent)];
  return ceil((high + low) * (high - low), 2n * warmUp);
}

function ceil(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
