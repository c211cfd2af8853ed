import { allow, deny, NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { integer } from '../../contracts/options.js';
import { prefetchOption, type Prefetchable } from '../prefetch-option.js';
import { LONGEST } from '../rate.js';
import { setBack } from '../../contracts/clock.js';

/** Options of `algorithm: 'sliding-window-cells'`. */
export interface SlidingWindowCellsOptions extends Prefetchable {
  /**
   * Number of cells that the window is divided into: an integer from 1 to 1,000. A permit becomes available again up to
   * one cell later than one window after it was taken: more cells shorten this delay and take more memory. Another
   * number starts new counters.
   * @default 10
   */
  readonly cells?: number;
}

/** The state of a key. */
export interface Cells {
  /** When the state was written, in microseconds since the epoch: an instant of the newest cell. */
  readonly written: number;
  /** Permits taken in each cell, newest first. */
  readonly counts: readonly number[];
}

type Parameters = Numbers<'limit' | 'window' | 'cells'>;

const DEFAULT_CELLS = 10;

/** Number of counts that take as much memory as a key. */
const COUNTS_PER_SIZE = 32;

/**
 * The sliding window of cells: permits are counted in equal cells of the window, and the oldest cell counts in full
 * until it has left the window. Allows at most `limit` permits in any window, and stores one number per cell.
 *
 * After the clock was set back, what counted at the last write counts in the current cell.
 */
export const slidingWindowCells: AlgorithmDefinition<SlidingWindowCellsOptions, Cells, keyof Parameters> = {
  name: 'sliding-window-cells',
  version: 2,
  bound: 'any window',
  examples: [
    { variant: '', rule: () => ({}) },
    { variant: '5 cells', rule: () => ({ cells: 5 }) },
  ],
  parameters: ['limit', 'window', 'cells'],
  options: { cells: integer(1, 1000), prefetch: prefetchOption },
  check({ window, cells = DEFAULT_CELLS }) {
    if (cells > window) {
      return `cells is ${cells}; allowed: at most one a microsecond of the window, ${window}`;
    }
    if (cells * window > Number.MAX_SAFE_INTEGER) {
      return `cells x window is ${cells * window} microseconds; allowed: at most 2^53 - 1`;
    }
    return undefined;
  },
  keyParts: ({ cells = DEFAULT_CELLS }) => (cells === DEFAULT_CELLS ? [] : [cells]),
  compile: ({ limit, window, cells = DEFAULT_CELLS }) => ({ limit, window, cells }),
  /** The permits count for another window after the end of the cell of their charge. */
  spendBy: (_nth, { now, resetAfter }, { window }) => now + resetAfter - window - 1,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, cells } = parameters;
    if (limit === 0) return NEVER;

    const current = read(state, now, parameters);
    const { written, cell, counts } = current;
    const { used, resetAfter: heldFor } = sum(current, now, parameters);
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
    return allow(Math.max(0, remaining - cost), 0, resetAfter, { written, counts }, resetAfter);
  },

  refund(state, now, cost, parameters, receipt, onlyLast) {
    if (onlyLast || Number(receipt) <= now || setBack(state.written, now) > 0) return undefined;
    const { window, cells } = parameters;
    const current = read(state, now, parameters);
    const { written, cell, counts } = current;
    const age = counts.findIndex((count, at) => count > 0 && expiryOf(cell - at, window, cells) === receipt);
    if (age < 0) return undefined;
    counts[age] = Math.max(0, counts[age]! - cost);
    return { state: { written, counts }, expiresAfter: sum(current, now, parameters).resetAfter };
  },

  isAhead: ({ written }, now) => setBack(written, now) > 0,

  sizeOf: ({ counts }) => 1 + Math.floor(counts.length / COUNTS_PER_SIZE),
};

/** Returns the current cells of a key: the number of the newest, and the permits of each by age (0 is the newest). */
function read(state: Cells | undefined, now: number, { window, cells }: Parameters) {
  const cell = cellAt(now, window, cells);
  const counts = new Array<number>(cells + 1).fill(0);
  if (!state) return { written: now, cell, counts };
  const { written, counts: stored } = state;
  if (setBack(written, now) > 0) {
    for (const count of stored) counts[0] = Math.min(LONGEST, counts[0]! + count);
    return { written: now, cell, counts };
  }
  const newest = cellAt(written, window, cells);
  let age = Math.max(0, cell - newest);
  for (const count of stored) {
    if (age > cells) break;
    counts[age] = count;
    age += 1;
  }
  return { written: Math.max(now, written), cell: Math.max(cell, newest), counts };
}

/** Returns the number of permits that count, and the time until none of them do. */
function sum({ cell, counts }: ReturnType<typeof read>, now: number, { window, cells }: Parameters) {
  let used = 0;
  for (let age = cells; age >= 0; age--) used += counts[age]!;
  const newest = counts.findIndex((count) => count > 0);
  return { used, resetAfter: newest < 0 ? 0 : expiryOf(cell - newest, window, cells) - now };
}

// The grid of cells: windows start at multiples of `window` microseconds since the epoch, and each is divided into
// `cells` cells of equal length, to the microsecond.

/** Returns the number of the cell that contains an instant, counted from the epoch. */
function cellAt(instant: number, window: number, cells: number): number {
  const within = instant % window;
  return ((instant - within) / window) * cells + Math.floor((within * cells) / window);
}

/** Returns the instant at which a cell stops counting: one window after its end. */
function expiryOf(cell: number, window: number, cells: number): number {
  const first = cell + 1 + cells;
  const within = first % cells;
  return ((first - within) / cells) * window + Math.ceil((within * window) / cells);
}
