import type { AlgorithmDefinition } from '../definition.js';
import lua from './sliding-window-cells.lua.js';

/** Options of `algorithm: 'sliding-window-cells'`. */
export interface SlidingWindowCellsOptions {
  /**
   * Parts that the window is counted in, an integer from 1 to 1,000 and at most `limit`. A permit
   * comes back at most one part later than the window says: more parts, less wait, more memory.
   * @default 10, or `limit` if that is less
   */
  readonly cells?: number;
}

export interface SlidingWindowCellsState {
  /** The newest cell's number since the epoch. */
  readonly cell: number;
  /** Permits taken in it and in the `cells` before it, newest first. */
  readonly counts: readonly number[];
}

const DEFAULT_CELLS = 10;

/** The instant at which a cell stops counting, a window after it has ended. */
function expiryOf(cell: number, window: number, cells: number): number {
  const first = cell + 1 + cells;
  const within = first % cells;
  return ((first - within) / cells) * window + Math.ceil((within * window) / cells);
}

/**
 * The sliding window of cells: permits are counted in equal parts of the window, and the oldest part
 * counts whole until it has left the window. At most `limit` in any window, with one number a cell.
 */
export const slidingWindowCells: AlgorithmDefinition<
  SlidingWindowCellsOptions,
  SlidingWindowCellsState,
  'limit' | 'window' | 'cells'
> = {
  name: 'sliding-window-cells',
  parameters: ['limit', 'window', 'cells'],
  options: {
    cells: {
      allowed: 'an integer from 1 to 1000, at most the limit',
      accepts: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 1000,
    },
  },
  check({ limit, window, cells = 1 }) {
    if (cells > limit) return `cells is ${cells}; allowed: at most the limit, ${limit}`;
    if (cells > window) return `cells is ${cells}; allowed: at most one a microsecond of the window, ${window}`;
    if (cells * window > Number.MAX_SAFE_INTEGER) {
      return `cells x window is ${cells * window} microseconds; allowed: at most 2^53 - 1`;
    }
    return undefined;
  },
  compile: ({ limit, window, cells = Math.max(1, Math.min(DEFAULT_CELLS, limit, window)) }) => ({
    limit,
    window,
    cells,
  }),
  lua,

  step(state, now, cost, { limit, window, cells }) {
    if (limit === 0) return { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0 };

    const within = now % window;
    let cell = ((now - within) / window) * cells + Math.floor((within * cells) / window);
    const counts = new Array<number>(cells + 1).fill(0);
    let used = 0;
    let newest: number | undefined;
    if (state) {
      let age = Math.max(0, cell - state.cell);
      cell = Math.max(cell, state.cell);
      for (const count of state.counts) {
        if (age > cells) break;
        counts[age] = count;
        used += count;
        if (count > 0) newest = Math.min(newest ?? age, age);
        age += 1;
      }
    }

    const remaining = Math.max(0, limit - used);
    let resetAfter = newest === undefined ? 0 : expiryOf(cell - newest, window, cells) - now;

    if (cost > remaining) {
      if (cost > limit) return { allowed: false, remaining, retryAfter: null, resetAfter };
      let excess = used + cost - limit;
      let age = cells + 1;
      while (excess > 0) {
        age -= 1;
        excess -= counts[age]!;
      }
      return { allowed: false, remaining, retryAfter: expiryOf(cell - age, window, cells) - now, resetAfter };
    }

    if (cost > 0) {
      counts[0] = counts[0]! + cost;
      resetAfter = expiryOf(cell, window, cells) - now;
    }
    return {
      allowed: true,
      remaining: remaining - cost,
      retryAfter: 0,
      resetAfter,
      state: { cell, counts },
      expiresAfter: resetAfter,
    };
  },
};
