import { atLeastZero, smaller, sum, type Model } from './brute-force.js';

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
  return atLeastZero(limit - current - (previous * left) / window);
};

/** All that came since the start of the last cell but so many: a cell counts whole. */
export const slidingWindowCells: Model = (admitted, now, { limit, window, ...terms }) => {
  const cells = smaller(terms.cells, smaller(limit, window));
  const oldest = (now * cells) / window - cells;
  return limit - sum(admitted.filter(({ at }) => (at * cells) / window >= oldest));
};

/** The same with as many cells as a rule has that does not say. */
export const slidingWindowTenCells: Model = (admitted, now, terms) =>
  slidingWindowCells(admitted, now, { ...terms, cells: 10n });
