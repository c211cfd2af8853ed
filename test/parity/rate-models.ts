import { atLeastZero, larger, smaller, type Admitted, type Model, type Terms } from './brute-force.js';

const DAY = 86_400_000_000n;

/**
 * The instant at which the queue is empty, in 1/limit of a microsecond. A request fits if at most the queue waits
 * before it.
 */
export const leakyBucket: Model = (admitted, now, terms) =>
  queue(admitted, now, terms, (terms.burst - 1n) * terms.window);

/** The same with a maximum delay: some requests are not delayed, and count as ahead of their time. */
export const delayingLeakyBucket: Model = (admitted, now, terms) => {
  const { limit, window, burst, delayAfter, maxDelay } = terms;
  const held = smaller(delayAfter, burst - 1n) * window + maxDelay * limit;
  return queue(admitted, now, terms, smaller((burst - 1n) * window, held));
};

function queue(
  admitted: readonly Admitted[],
  now: bigint,
  { limit, window }: Terms,
  longest: bigint,
): bigint {
  let empty = 0n;
  for (const { at, cost } of admitted) empty = larger(empty, at * limit) + cost * window;
  const room = longest - atLeastZero(empty - now * limit);
  return room < 0n ? 0n : room / window + 1n;
}

/** The theoretical arrival time, in 1/limit of a microsecond: a permit takes `window` of them. */
export const gcra: Model = (admitted, now, { limit, window, burst }) => {
  let tat = 0n;
  for (const { at, cost } of admitted) tat = larger(tat, at * limit) + cost * window;
  return (burst * window - atLeastZero(tat - now * limit)) / window;
};

/** A bucket of burst x window units that gains `limit` units per microsecond; a permit is `window` units. */
export const tokenBucket: Model = (admitted, now, { limit, window, burst }) => {
  let drops = burst * window;
  let last = 0n;
  for (const { at, cost } of [...admitted, { at: now, cost: 0n }]) {
    drops = smaller(burst * window, drops + (at - last) * limit) - cost * window;
    last = at;
  }
  return drops / window;
};

/** The same bucket, which counts as new one day after it was full, with fewer permits. */
export const newTokenBucket: Model = (admitted, now, { limit, window, burst, ...terms }) => {
  const full = burst * window;
  const atFirst = smaller(terms.initial, burst) * window;
  let drops: bigint | undefined;
  let last = 0n;
  for (const { at, cost } of [...admitted, { at: now, cost: 0n }]) {
    const isNew = drops === undefined || (at - last - DAY) * limit >= full - drops;
    drops = (isNew ? atFirst : smaller(full, drops! + (at - last) * limit)) - cost * window;
    last = at;
  }
  return drops! / window;
};

/** Gets `limit` permits at the end of each window; the first window starts with a charge of a full bucket. */
export const intervalBucket: Model = (admitted, now, { limit, window, burst }) => {
  let tokens = burst;
  let start = 0n;
  for (const { at, cost } of [...admitted, { at: now, cost: 0n }]) {
    const ticks = (at - start) / window;
    tokens = smaller(burst, tokens + ticks * limit);
    start = tokens === burst ? at : start + ticks * window;
    tokens -= cost;
  }
  return tokens;
};
