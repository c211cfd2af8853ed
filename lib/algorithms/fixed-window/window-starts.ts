/**
 * The starts of four windows in a row, in microseconds since the epoch; `current` is that of the instant
 * asked about.
 *
 * Windows are numbered, 0 is the one that starts at `previous`; those beyond are taken to be as long as
 * the nearest one.
 */
export type WindowStarts = Readonly<Record<'previous' | 'current' | 'coming' | 'last', number>>;

/**
 * The number of the window that an instant is in. Where starts are not known, `nearest` (0.5) takes it
 * for the start of a window, and 0 for any instant in one.
 */
export function windowAt(instant: number, starts: WindowStarts, nearest: 0 | 0.5): number {
  const { previous, current, coming, last } = starts;
  if (instant >= last) return 3 + Math.floor((instant - last) / (last - coming) + nearest);
  if (instant >= coming) return 2;
  if (instant >= current) return 1;
  if (instant >= previous) return 0;
  return Math.floor((instant - previous) / (current - previous) + nearest);
}

/** The instant at which a window starts. */
export function startOf(window: number, { previous, current, coming, last }: WindowStarts): number {
  if (window >= 3) return last + (window - 3) * (last - coming);
  if (window === 2) return coming;
  return previous + window * (current - previous);
}
