/**
 * The starts of four consecutive windows, in microseconds since the epoch; `current` starts the window that contains
 * the current time.
 *
 * Windows are numbered: 0 starts at `previous`. Windows outside these four have an assumed length, that of the
 * nearest one.
 */
export type WindowStarts = Readonly<Record<'previous' | 'current' | 'coming' | 'last', number>>;

/**
 * Returns the number of the window that contains an instant. Where the length is assumed, `nearest` 0 rounds down;
 * 0.5 rounds to the nearest start, for an instant that is known to be the start of a window.
 */
export function windowAt(instant: number, starts: WindowStarts, nearest: 0 | 0.5): number {
  const { previous, current, coming, last } = starts;
  if (instant >= last) return 3 + Math.floor((instant - last) / (last - coming) + nearest);
  if (instant >= coming) return 2;
  if (instant >= current) return 1;
  if (instant >= previous) return 0;
  return Math.floor((instant - previous) / (current - previous) + nearest);
}

/** Returns the instant at which the window with a number starts. */
export function startOf(window: number, { previous, current, coming, last }: WindowStarts): number {
  if (window >= 3) return last + (window - 3) * (last - coming);
  if (window === 2) return coming;
  return previous + window * (current - previous);
}
