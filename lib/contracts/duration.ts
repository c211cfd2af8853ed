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
 * Suggests durations for one in another form (`60`, `'1 minute'`), in words for error messages: of whole seconds in
 * milliseconds first (`60000`: `"1m"`). Returns `undefined` if the value cannot be read as a duration.
 */
export function durationFix(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.length > 64) return undefined;
  const readings = /^\d{1,14}$/.test(text) ? readingsOf(text) : [readDuration(text)];
  const valid = readings.filter((reading) => parseDuration(reading) !== undefined);
  return valid.length > 0 ? `write ${valid.map((reading) => `"${reading}"`).join(' or ')}` : undefined;
}

/** The durations that a number can mean. */
function readingsOf(digits: string): readonly (string | undefined)[] {
  const isMilliseconds = /[1-9]\d*000$/.test(digits);
  if (isMilliseconds) return [inWholeUnits(Number(digits) * MICROSECONDS.ms), `${digits}s`];
  return [`${digits}s`, `${digits}ms`];
}

/** Other names of units, in lower case. */
const UNITS: readonly (readonly [names: RegExp, count: number, unit: DurationUnit])[] = [
  [/^(ms|msecs?|millis(econds?)?)$/, 1, 'ms'],
  [/^(s|secs?|seconds?)$/, 1, 's'],
  [/^(m|mins?|minutes?|minutely)$/, 1, 'm'],
  [/^(h|hrs?|hours?|hourly)$/, 1, 'h'],
  [/^(d|days?|daily)$/, 1, 'd'],
  [/^(w|wks?|weeks?|weekly)$/, 1, 'w'],
  [/^(months?|monthly)$/, 30, 'd'],
  [/^(y|yrs?|years?|yearly)$/, 365, 'd'],
];

/** Reads `1 minute`, `day`, `1.5h` or `1h30m`. */
function readDuration(text: string): string | undefined {
  const parts = [...text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)?\s*([a-z]+)\s*/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text.toLowerCase().trimStart()) {
    return undefined;
  }
  const lengths = parts.map(([, count = '1', name]) => {
    const known = UNITS.find(([names]) => names.test(name!));
    return known && { count: Number(count) * known[1], unit: known[2] };
  });
  const [first] = lengths;
  if (first && lengths.length === 1 && Number.isInteger(first.count)) return `${first.count}${first.unit}`;
  return inWholeUnits(
    lengths.reduce((sum, each) => sum + (each ? each.count * MICROSECONDS[each.unit] : NaN), 0),
  );
}

/** Returns a duration in the largest unit that divides it; `undefined` if it is no whole number of milliseconds. */
export function inWholeUnits(microseconds: number): string | undefined {
  const unit = (['w', 'd', 'h', 'm', 's', 'ms'] as const).find(
    (each) => microseconds % MICROSECONDS[each] === 0,
  );
  return unit && `${microseconds / MICROSECONDS[unit]}${unit}`;
}
