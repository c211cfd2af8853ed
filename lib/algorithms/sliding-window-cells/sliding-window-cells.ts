import type { AlgorithmDefinition } from '../definition.js';
import { integer } from '../../contracts/option-checks.js';
import { endOfFirstWindow, prefetchOption, type Prefetchable } from '../prefetch.js';
import { inheriting, inheritOption, scaleCount, type Inheriting, type Scale } from '../proportional.js';
import { LONGEST } from '../rate.js';
import { shareOf } from '../share.js';
import { allow, deny, NEVER } from '../result.js';
import { expiryOf } from './cell-grid.js';
import { read, sum, write, type SlidingWindowCellsState } from './cells.js';
import { slidingWindowCellsExamples } from './sliding-window-cells.examples.js';

/** Options of `algorithm: 'sliding-window-cells'`. */
export interface SlidingWindowCellsOptions extends Prefetchable, Inheriting {
  /**
   * Number of cells that the window is divided into: an integer from 1 to 1,000, at most `limit`. A permit becomes
   * available again up to one cell later than one window after it was taken: more cells shorten this delay and take
   * more memory.
   * @default 10, or `limit` if that is less
   */
  readonly cells?: number;
}

type SlidingWindowCellsParameter = 'limit' | 'window' | 'cells';

const DEFAULT_CELLS = 10;

/** Number of counts that take as much memory as a key. */
const COUNTS_PER_SIZE = 32;

/** Scales the sums of the newest cells, so that no sum is rounded twice, whichever cells have expired. */
const scale: Scale<SlidingWindowCellsState> = (state, from, to) => {
  let sum = 0;
  let scaled = 0;
  const counts = state.counts.map((count) => {
    sum += count;
    const before = scaled;
    scaled = scaleCount(sum, from, to);
    return scaled - before;
  });
  return { ...state, counts };
};

/**
 * The sliding window of cells: permits are counted in equal cells of the window, and the oldest cell counts in full
 * until it has left the window. Allows at most `limit` permits in any window, and stores one number per cell.
 */
export const slidingWindowCells: AlgorithmDefinition<
  SlidingWindowCellsOptions,
  SlidingWindowCellsState,
  SlidingWindowCellsParameter
> = inheriting<SlidingWindowCellsOptions, SlidingWindowCellsState, SlidingWindowCellsParameter>(scale, {
  name: 'sliding-window-cells',
  bound: 'any window',
  forLargeLimits: true,
  examples: slidingWindowCellsExamples,
  parameters: ['limit', 'window', 'cells'],
  options: {
    cells: { ...integer(1, 1000), allowed: 'an integer from 1 to 1000, at most the limit' },
    prefetch: prefetchOption,
    inherit: inheritOption,
  },
  check({ limit, window, cells = 1 }) {
    if (cells > limit) return `cells is ${cells}; allowed: at most the limit, ${limit}`;
    if (cells > window) {
      return `cells is ${cells}; allowed: at most one a microsecond of the window, ${window}`;
    }
    if (cells * window > Number.MAX_SAFE_INTEGER) {
      return `cells x window is ${cells * window} microseconds; allowed: at most 2^53 - 1`;
    }
    return undefined;
  },
  share: ({ limit, cells }, processes) =>
    cells === undefined ? {} : { cells: Math.min(cells, shareOf(limit, processes)) },
  compile({ limit, window, cells = Math.max(1, Math.min(DEFAULT_CELLS, limit, window)) }) {
    return { limit, window, cells };
  },
  spendBy: endOfFirstWindow,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit } = parameters;
    if (limit === 0) return NEVER;

    const current = read(state, now, parameters);
    const { cell, counts, window, cells } = current;
    const { used, resetAfter: heldFor } = sum(current, now);
    const remaining = Math.max(0, limit - used);

    if (cost > remaining && maxWait < Infinity) {
      if (cost > limit) return deny(remaining, null, heldFor);
      let excess = used + cost - limit;
      let age = cells + 1;
      while (excess > 0) {
        age -= 1;
        excess -= counts[age]!;
      }
      return deny(remaining, expiryOf(cell - age, window, cells) - now, heldFor);
    }

    const resetAfter = cost > 0 ? expiryOf(cell, window, cells) - now : heldFor;
    counts[0] = Math.min(LONGEST, counts[0]! + cost);
    return allow(Math.max(0, remaining - cost), 0, resetAfter, write(current), resetAfter);
  },

  refund(state, now, cost, parameters, receipt, onlyLast) {
    const current = read(state, now, parameters);
    const { cell, counts, window, cells } = current;
    if (onlyLast || Number(receipt) <= now) return undefined;
    const age = counts.findIndex((count, at) => count > 0 && expiryOf(cell - at, window, cells) === receipt);
    if (age < 0) return undefined;
    counts[age] = Math.max(0, counts[age]! - cost);
    return { state: write(current), expiresAfter: sum(current, now).resetAfter };
  },

  sizeOf: ({ counts }) => 1 + Math.floor(counts.length / COUNTS_PER_SIZE),
});
