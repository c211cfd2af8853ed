/**
 * What each algorithm promises, told a second time and as naively as it can be: from the bare list
 * of what was admitted, in integers of any size, and without a line of lib/.
 */
export interface Admitted {
  readonly at: bigint;
  readonly cost: bigint;
}

export interface Terms {
  readonly limit: bigint;
  readonly window: bigint;
  readonly burst: bigint;
}

/** How many permits may be had at once, given what was admitted so far, oldest first. */
export type Model = (admitted: readonly Admitted[], now: bigint, terms: Terms) => bigint;

/** A window starts at the first hit after the one before it ended. */
export const fixedWindowFromFirstHit: Model = (admitted, now, { limit, window }) => {
  let start: bigint | undefined;
  let used = 0n;
  for (const { at, cost } of admitted) {
    if (start === undefined || at >= start + window) {
      start = at;
      used = 0n;
    }
    used += cost;
  }
  return start === undefined || now >= start + window ? limit : limit - used;
};

/** All that came since the last multiple of the window. */
export const fixedWindowOnTheClock: Model = (admitted, now, { limit, window }) =>
  limit - sum(admitted.filter(({ at }) => at / window === now / window));

/** All that came within the window that ends now. */
export const slidingWindowLog: Model = (admitted, now, { limit, window }) =>
  limit - sum(admitted.filter(({ at }) => at > now - window));

/** All of this window of the clock, and of the one before as much as lies within the sliding one. */
export const slidingWindowCounter: Model = (admitted, now, { limit, window }) => {
  const cell = now / window;
  const left = (cell + 1n) * window - now;
  const current = sum(admitted.filter(({ at }) => at / window === cell));
  const previous = sum(admitted.filter(({ at }) => at / window === cell - 1n));
  return atLeastZero(limit - current - (previous * left + window - 1n) / window);
};

/** All that came since the start of the tenth cell before this one: a cell counts whole. */
export const slidingWindowCells: Model = (admitted, now, { limit, window }) => {
  const cells = smaller(10n, smaller(limit, window));
  const oldest = (now * cells) / window - cells;
  return limit - sum(admitted.filter(({ at }) => (at * cells) / window >= oldest));
};

/** The instant at which the queue is empty, in 1/limit of a microsecond; one more than may wait fits. */
export const leakyBucket: Model = (admitted, now, { limit, window, burst }) => {
  let empty = 0n;
  for (const { at, cost } of admitted) empty = larger(empty, at * limit) + cost * window;
  const room = (burst - 1n) * window - atLeastZero(empty - now * limit);
  return room < 0n ? 0n : room / window + 1n;
};

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

function sum(admitted: readonly Admitted[]): bigint {
  return admitted.reduce((total, { cost }) => total + cost, 0n);
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function atLeastZero(value: bigint): bigint {
  return larger(value, 0n);
}
