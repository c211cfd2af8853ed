import { atLeastZero, larger, smaller, type Admitted, type Model, type Terms } from './brute-force.js';

const DAY = 86_400_000_000n;

/** The instant at which the queue is empty, in 1/limit of a microsecond; one more than may wait fits. */
export const leakyBucket: Model = (admitted, now, terms) =>
  queue(admitted, now, terms, (terms.burst - 1n) * terms.window);

/** The same, where nobody is held longer than so long: some go at once, and count as ahead of their time. */
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

/** The theoretical arrival time, counted in 1/limit of a microsecond: a permit takes `window` of them. */
export const gcra: Model = (admitted, now, { limit, window, burst }) => {
  let tat = 0n;
  for (const { at, cost } of admitted) tat = larger(tat, at * limit) + cost * window;
  return (burst * window - atLeastZero(tat - now * limit)) / window;
};

/** A vessel of burst x window drops that gains `limit` drops a microsecond; a permit is `window` drops. */
export const tokenBucket: Model = (admitted, now, { limit, window, burst }) => {
  let drops = burst * window;
  let last = 0n;
  for (const { at, cost } of [...admitted, { at: now, cost: 0n }]) {
    drops = smaller(burst * window, drops + (at - last) * limit) - cost * window;
    last = at;
  }
  return drops / window;
};

/** The same vessel, which a day after it was full is a new one, with less in it. */
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

/** Gets `limit` permits whenever a window is over; the first of them starts when a full one is taken of. */
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
