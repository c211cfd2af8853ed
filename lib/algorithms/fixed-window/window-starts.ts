/**
 * The starts of four consecutive windows, in microseconds since the epoch; `current` starts the window that contains
 * the current time.
 *
 * Windows are numbered: 0 starts at `previous`. Windows outside these four have an assumed length, that of the
 * nearest one.
 */
export type WindowStarts = Readonly<Record<'previous' | 'current' | 'coming' | 'last', number>>;

/** Returns the number of the window that contains an instant. */
export function windowAt(instant: number, { previous, current, coming, last }: WindowStarts): number {
  if (instant >= last) return 3 + Math.floor((instant - last) / (last - coming));
  if (instant >= coming) return 2;
  if (instant >= current) return 1;
  return Math.floor((instant - previous) / (current - previous));
}

/** Returns the instant at which the window with a number starts. */
export function startOf(window: number, { previous, current, coming, last }: WindowStarts): number {
  if (window >= 3) return last + (window - 3) * (last - coming);
  if (window === 2) return coming;
  return previous + window * (current - previous);
}

/**
 * Returns the number of the window that starts nearest to an instant. Starts that were calculated with other known windows
 * differ by days where the length was assumed.
 */
export function windowFrom(start: number, starts: WindowStarts): number {
  const window = windowAt(start, starts);
  return startOf(window + 1, starts) - start < start - startOf(window, starts) ? window + 1 : window;
}
