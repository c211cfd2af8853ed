/**
 * A length of time, from a microsecond to 366 days: milliseconds as a number, which may be a fraction, or
 * an integer with a unit as a string, such as `'10s'`.
 */
export type Duration = number | `${number}${DurationUnit}`;

/** Milliseconds, seconds, minutes, hours, days of 24 hours, weeks of 7 of them. */
export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w';

const MICROSECONDS: Record<DurationUnit, number> = {
  ms: 1e3,
  s: 1e6,
  m: 60e6,
  h: 3600e6,
  d: 86_400e6,
  w: 604_800e6,
};

const LONGEST = 366 * MICROSECONDS.d;

/** What a duration may be, in words. */
export const DURATION_ALLOWED =
  'milliseconds above 0, or a string such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days';

/** A duration in whole microseconds, `undefined` if it is none or out of range (1 µs to 366 days). */
export function parseDuration(value: unknown): number | undefined {
  const microseconds = Math.round(typeof value === 'number' ? value * 1e3 : parseText(value));
  return microseconds >= 1 && microseconds <= LONGEST ? microseconds : undefined;
}

function parseText(value: unknown): number {
  if (typeof value !== 'string' || value.length > 16) return NaN;
  const match = /^(\d+)(ms|s|m|h|d|w)$/.exec(value);
  return match ? Number(match[1]) * MICROSECONDS[match[2] as DurationUnit] : NaN;
}
