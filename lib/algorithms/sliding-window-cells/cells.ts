import type { Numbers } from '../definition.js';
import { cellAt, expiryOf } from './cell-grid.js';

/** The state of a key. */
export interface SlidingWindowCellsState extends Grid {
  /** The instant at which the newest cell stops counting, in microseconds since the epoch. */
  readonly expiry: number;
  /** Permits taken in each cell, newest first. */
  readonly counts: readonly number[];
}

/** A window divided into cells. */
interface Grid {
  /** Microseconds. */
  readonly window: number;
  readonly cells: number;
  /**
   * Until when this grid also applies to a rule with a shorter window, in microseconds since the epoch; 0: until no
   * cell counts.
   */
  readonly until: number;
}

type Parameters = Numbers<'window' | 'cells'>;

/** The current cells: the number of the newest, and the permits of each by age (0 is the newest). */
interface Cells extends Grid {
  readonly cell: number;
  readonly counts: number[];
}

/** Returns the current cells of a key. */
export function read(state: SlidingWindowCellsState | undefined, now: number, own: Parameters): Cells {
  if (!state || state.expiry <= now) return empty(now, own);
  if (state.window === own.window) return aged(state, now, 0);
  if (state.window < own.window) return moved(state, now, own);
  const until = state.until === 0 ? state.expiry : state.until;
  return now < until ? aged(state, now, until) : moved(state, now, own);
}

function empty(now: number, { window, cells }: Parameters): Cells {
  const counts = new Array<number>(cells + 1).fill(0);
  return { window, cells, until: 0, cell: cellAt(now, window, cells), counts };
}

/** Returns the current cells of a state, in its own grid. */
function aged(state: SlidingWindowCellsState, now: number, until: number): Cells {
  const { window, cells } = state;
  const cell = cellAt(now, window, cells);
  const newest = newestOf(state);
  const counts = new Array<number>(cells + 1).fill(0);
  let age = Math.max(0, cell - newest);
  for (const count of state.counts) {
    if (age > cells) break;
    counts[age] = count;
    age += 1;
  }
  return { window, cells, until, cell: Math.max(cell, newest), counts };
}

/** Returns the current cells of a state in the rule's grid, as if each permit had been taken at the end of its cell. */
function moved(state: SlidingWindowCellsState, now: number, own: Parameters): Cells {
  const { window, cells } = state;
  const newest = newestOf(state);
  const last = cellAt(state.expiry - window - 1, own.window, own.cells);
  const { counts, ...grid } = empty(now, own);
  const cell = Math.max(grid.cell, last);
  for (const [age, count] of state.counts.entries()) {
    const expiry = expiryOf(newest - age, window, cells);
    if (expiry <= now) break;
    const at = cell - cellAt(expiry - window - 1, own.window, own.cells);
    if (at <= own.cells) counts[at] = counts[at]! + count;
  }
  return { ...grid, cell, counts };
}

function newestOf({ expiry, window, cells }: SlidingWindowCellsState): number {
  return cellAt(expiry - window - 1, window, cells);
}

/** Returns the number of permits that count, and the time until none of them do. */
export function sum(
  { cell, counts, window, cells }: Cells,
  now: number,
): { used: number; resetAfter: number } {
  let used = 0;
  let newest: number | undefined;
  for (let age = cells; age >= 0; age--) {
    used += counts[age]!;
    if (counts[age]! > 0) newest = age;
  }
  return { used, resetAfter: newest === undefined ? 0 : expiryOf(cell - newest, window, cells) - now };
}

/** Returns the state to store for cells. */
export function write({ cell, counts, window, cells, until }: Cells): SlidingWindowCellsState {
  return { expiry: expiryOf(cell, window, cells), counts, window, cells, until };
}
