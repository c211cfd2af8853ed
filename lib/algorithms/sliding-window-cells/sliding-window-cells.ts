import { NEVER, type AlgorithmDefinition } from '../definition.js';
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
  /** The instant at which the newest cell stops counting, in microseconds. */
  readonly expiry: number;
  /** Permits taken in it and in those before it, newest first. */
  readonly counts: readonly number[];
}

const DEFAULT_CELLS = 10;

/** The number since the epoch of the cell that an instant is in. */
function cellAt(instant: number, window: number, cells: number): number {
  const within = instant % window;
  return ((instant - within) / window) * cells + Math.floor((within * cells) / window);
}

/** The instant at which a cell stops counting, a window after it has ended. */
function expiryOf(cell: number, window: number, cells: number): number {
  const first = cell + 1 + cells;
  const within = first % cells;
  return ((first - within) / cells) * window + Math.ceil((within * window) / cells);
}

type SlidingWindowCellsParameters = Readonly<Record<'limit' | 'window' | 'cells', number>>;

/** Cells as they are now: the newest one's number, and the permits of it and of those before it by age. */
interface Cells {
  readonly cell: number;
  readonly counts: number[];
}

/** Counts of another grid, before the rule was changed, all go to the newest of them. */
function read(
  state: SlidingWindowCellsState | undefined,
  now: number,
  { window, cells }: SlidingWindowCellsParameters,
): Cells {
  const cell = cellAt(now, window, cells);
  const counts = new Array<number>(cells + 1).fill(0);
  if (!state) return { cell, counts };

  const newest = cellAt(state.expiry - window - 1, window, cells);
  const sameGrid = expiryOf(newest, window, cells) === state.expiry;
  let age = Math.max(0, cell - newest);
  for (const count of state.counts) {
    if (age > cells) break;
    counts[age] = counts[age]! + count;
    if (sameGrid) age += 1;
  }
  return { cell: Math.max(cell, newest), counts };
}

/** The permits that count, and how long until none of them does. */
function sum(
  { cell, counts }: Cells,
  now: number,
  { window, cells }: SlidingWindowCellsParameters,
): { used: number; resetAfter: number } {
  let used = 0;
  let newest: number | undefined;
  for (let age = cells; age >= 0; age--) {
    used += counts[age]!;
    if (counts[age]! > 0) newest = age;
  }
  return { used, resetAfter: newest === undefined ? 0 : expiryOf(cell - newest, window, cells) - now };
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
    if (cells > window)
      return `cells is ${cells}; allowed: at most one a microsecond of the window, ${window}`;
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

  step(state, now, cost, parameters, patience = 0) {
    const { limit, window, cells } = parameters;
    if (limit === 0) return NEVER;

    const { cell, counts } = read(state, now, parameters);
    const { used, resetAfter: heldFor } = sum({ cell, counts }, now, parameters);
    const remaining = Math.max(0, limit - used);

    if (cost > remaining && patience < Infinity) {
      const denied = { allowed: false, remaining, resetAfter: heldFor, delay: 0 } as const;
      if (cost > limit) return { ...denied, retryAfter: null };
      let excess = used + cost - limit;
      let age = cells + 1;
      while (excess > 0) {
        age -= 1;
        excess -= counts[age]!;
      }
      return { ...denied, retryAfter: expiryOf(cell - age, window, cells) - now };
    }

    const resetAfter = cost > 0 ? expiryOf(cell, window, cells) - now : heldFor;
    counts[0] = counts[0]! + cost;
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: { expiry: expiryOf(cell, window, cells), counts },
      expiresAfter: resetAfter,
    };
  },

  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { window, cells } = parameters;
    const { cell, counts } = read(state, now, parameters);
    if (onlyLast || Number(receipt) <= now) return undefined;
    const age = counts.findIndex((count, at) => count > 0 && expiryOf(cell - at, window, cells) === receipt);
    if (age < 0) return undefined;
    counts[age] = Math.max(0, counts[age]! - cost);
    const next = { expiry: expiryOf(cell, window, cells), counts };
    return { state: next, expiresAfter: sum({ cell, counts }, now, parameters).resetAfter };
  },
};
