/** Returns the time in milliseconds since the Unix epoch. Fractions count to the microsecond. */
export type Clock = () => number;

/** A clock's reading in whole microseconds, the unit in which every algorithm computes. */
export function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000);
}

/** A wait in microseconds as whole milliseconds, rounded up so that waiting that long is always enough. */
export function toMilliseconds(microseconds: number): number {
  return Math.ceil(microseconds / 1000);
}
