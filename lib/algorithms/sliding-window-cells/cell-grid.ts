// The grid of cells: windows start at multiples of `window` microseconds since the epoch, and each is divided into
// `cells` cells of equal length, to the microsecond.

/** Returns the number of the cell that contains an instant, counted from the epoch. */
export function cellAt(instant: number, window: number, cells: number): number {
  const within = instant % window;
  return ((instant - within) / window) * cells + Math.floor((within * cells) / window);
}

/** Returns the instant at which a cell stops counting: one window after its end. */
export function expiryOf(cell: number, window: number, cells: number): number {
  const first = cell + 1 + cells;
  const within = first % cells;
  return ((first - within) / cells) * window + Math.ceil((within * window) / cells);
}
