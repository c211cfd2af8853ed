import type { Numbers } from '../definition.js';
import { LONGEST } from '../rate.js';
import { setBack } from '../../contracts/clock.js';
import { cellAt, expiryOf } from './cell-grid.js';

/** The state of a key. */
export interface SlidingWindowCellsState {
  /** When the state was written, in microseconds since the epoch: an instant of the newest cell. */
  readonly written: number;
  /** Permits taken in each cell, newest first. */
  readonly counts: readonly number[];
}

type Parameters = Numbers<'window' | 'cells'>;

/** The current cells: the number of the newest, and the permits of each by age (0 is the newest). */
interface Cells {
  readonly written: number;
  readonly cell: number;
  readonly counts: number[];
}

/** Returns the current cells of a key. */
export function read(
  state: SlidingWindowCellsState | undefined,
  now: number,
  { window, cells }: Parameters,
): Cells {
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
export function sum(
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
