/** Returns the time in milliseconds since the Unix epoch. Fractions are used with a precision of 1 microsecond. */
export type Clock = () => number;

/** Converts a clock reading to whole microseconds, the unit of all algorithms. */
export function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}
