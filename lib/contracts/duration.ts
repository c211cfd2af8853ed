/** A length of time from 1 ms to 366 days: an integer with a unit, such as `'10s'` or `'1h'`. */
export type Duration = `${number}${DurationUnit}`;

/** Milliseconds, seconds, minutes, hours, days of 24 hours, weeks of 7 days. */
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

/** The allowed durations, in words for error messages. */
export const DURATION_ALLOWED =
  'an integer with a unit, such as "250ms", "10s", "1m", "1h", "1d" or "1w", up to 366 days';

/** Parses a duration to microseconds. Returns `undefined` if the value is no duration from 1 ms to 366 days. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 16) return undefined;
  const match = /^(\d+)(ms|s|m|h|d|w)$/.exec(value);
  if (!match) return undefined;
  const microseconds = Number(match[1]) * MICROSECONDS[match[2] as DurationUnit];
  return microseconds >= 1 && microseconds <= LONGEST ? microseconds : undefined;
}

/**
 * Suggests durations for a number without a unit, in words for error messages. Returns `undefined` if the value is
 * not such a number or no suggestion is in range.
 */
export function durationFix(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^\d{1,14}$/.test(text)) return undefined;
  const readings = [`${text}s`, `${text}ms`].filter((reading) => parseDuration(reading) !== undefined);
  return readings.length > 0 ? `write ${readings.map((reading) => `"${reading}"`).join(' or ')}` : undefined;
}
