/** Returns the time in milliseconds since the Unix epoch. Fractions are used with a precision of 1 microsecond. */
export type Clock = () => number;

/** Converts a clock reading to whole microseconds, the unit of all algorithms. */
export function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}

/** Converts a wait to whole milliseconds, rounded up so that a caller that waits this long has waited long enough. */
export function toMilliseconds(microseconds: number): number {
  return Math.ceil(microseconds / 1000);
}
