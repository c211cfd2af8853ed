import { atLeastZero, smaller, sum, type Model } from './brute-force.js';

/** A window starts with the first hit after the end of the previous one. */
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

/** All requests since the last multiple of the window. */
export const fixedWindowOnTheClock: Model = (admitted, now, { limit, window }) =>
  limit - sum(admitted.filter(({ at }) => at / window === now / window));

/** All requests in the window that ends now. */
export const slidingWindowLog: Model = (admitted, now, { limit, window }) =>
  limit - sum(admitted.filter(({ at }) => at > now - window));

/**
 * All requests of the current window of the clock, and the part of the previous ones that the sliding window covers.
 */
export const slidingWindowCounter: Model = (admitted, now, { limit, window }) => {
  const cell = now / window;
  const left = (cell + 1n) * window - now;
  const current = sum(admitted.filter(({ at }) => at / window === cell));
  const previous = sum(admitted.filter(({ at }) => at / window === cell - 1n));
  return atLeastZero(limit - current - (previous * left) / window);
};

/**
 * All requests since the start of the cell that is a number of cells older than the current one: a cell counts in
 * full.
 */
export const slidingWindowCells: Model = (admitted, now, { limit, window, ...terms }) => {
  const cells = smaller(terms.cells, window);
  const oldest = (now * cells) / window - cells;
  return limit - sum(admitted.filter(({ at }) => (at * cells) / window >= oldest));
};

/** The same with the default number of cells. */
export const slidingWindowTenCells: Model = (admitted, now, terms) =>
  slidingWindowCells(admitted, now, { ...terms, cells: 10n });
