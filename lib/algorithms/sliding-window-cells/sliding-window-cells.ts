import { NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { cellAt, expiryOf } from './cell-grid.js';
import { endOfFirstWindow } from '../lease.js';
import cellGridLua from './cell-grid.lua.js';
import {
  slidingWindowCellsTerms,
  type SlidingWindowCellsOptions,
  type SlidingWindowCellsParameter,
} from './sliding-window-cells-options.js';
import lua from './sliding-window-cells.lua.js';

export type { SlidingWindowCellsOptions };

export interface SlidingWindowCellsState {
  /** The instant at which the newest cell stops counting, in microseconds. */
  readonly expiry: number;
  /** Permits taken in it and in those before it, newest first. */
  readonly counts: readonly number[];
}

type Parameters = Numbers<SlidingWindowCellsParameter>;

/** Cells as they are now: the newest one's number, and the permits of it and of those before it by age. */
interface Cells {
  readonly cell: number;
  readonly counts: number[];
}

/** Counts of another grid, before the rule was changed, all go to the newest of them. */
function read(state: SlidingWindowCellsState | undefined, now: number, { window, cells }: Parameters): Cells {
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
  { window, cells }: Parameters,
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
  SlidingWindowCellsParameter
> = {
  name: 'sliding-window-cells',
  ...slidingWindowCellsTerms,
  lua: cellGridLua + lua,
  spendBy: endOfFirstWindow,

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
