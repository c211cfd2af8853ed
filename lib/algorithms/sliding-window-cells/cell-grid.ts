// The grid of cells: each window of the clock, a multiple of `window` microseconds since the epoch, in
// `cells` parts that are equal to the microsecond.

/** The number since the epoch of the cell that an instant is in. */
export function cellAt(instant: number, window: number, cells: number): number {
  const within = instant % window;
  return ((instant - within) / window) * cells + Math.floor((within * cells) / window);
}

/** The instant at which a cell stops counting, a window after it has ended. */
export function expiryOf(cell: number, window: number, cells: number): number {
  const first = cell + 1 + cells;
  const within = first % cells;
  return ((first - within) / cells) * window + Math.ceil((within * window) / cells);
}
