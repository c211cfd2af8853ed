/** Returns the time in milliseconds since the Unix epoch. Fractions are used with a precision of 1 microsecond. */
export type Clock = () => number;

/** Converts a clock reading to whole microseconds, the unit of all algorithms. */
export function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}

/** Steps of the clock up to this length, in microseconds, move no state. */
export const SLACK = 1e6;

/**
 * Returns by how much the clock was set back since an instant at which a state was written, in microseconds; 0 for a
 * step of at most a second. See docs/adr/0006-when-the-clock-steps.md.
 */
export function setBack(written: number, now: number): number {
  const by = written - now;
  return by > SLACK ? by : 0;
}
