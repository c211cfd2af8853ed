const CLF =
  /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):([01]\d|2[0-3])(:[0-5]\d):((?:[0-5]\d|60)(?:\.\d{1,6})?)(?: ([+-]\d{4}))?$/;

const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?$/;

/** The year 10000, in microseconds. */
const LATEST = 253_402_300_800e6;

/**
 * Reads a time of a log in microseconds since the epoch: `10/Oct/2025:13:55:36 -0700`, ISO 8601 (both UTC without a
 * zone), or a number of seconds, milliseconds, microseconds or nanoseconds since the epoch. Returns `undefined` for anything
 * else.
 */
export function readTime(value: unknown): number | undefined {
  const time = typeof value === 'number' ? fromNumber(value) : fromText(value);
  return time !== undefined && time >= 0 && time < LATEST ? time : undefined;
}

function fromText(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > 40) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return fromNumber(Number(value));
  return value.charAt(2) === '/' ? fromClf(value) : fromIso(value);
}

/** The number of digits gives the unit: seconds until the year 5138, milliseconds from 1973 on. */
function fromNumber(value: number): number | undefined {
  if (!Number.isFinite(value)) return undefined;
  if (value < 1e11) return Math.round(value * 1e6);
  if (value < 1e14) return Math.round(value * 1e3);
  return Math.round(value < 1e17 ? value : value / 1e3);
}

function fromClf(text: string): number | undefined {
  const match = CLF.exec(text);
  if (!match) return undefined;
  const [, day, month, year, hour, minute, second, zone = '+0000'] = match;
  // The second is added, since it may be a leap second.
  const time = Date.parse(`${day} ${month} ${year} ${hour}${minute} ${zone}`);
  return Number.isNaN(time) || !hasDay(`${day} ${month} ${year} UTC`, day!)
    ? undefined
    : time * 1000 + Math.round(Number(second) * 1e6);
}

function fromIso(text: string): number | undefined {
  const match = ISO.exec(text);
  if (!match) return undefined;
  const zone = match[3] ?? '';
  const local = (zone ? text.slice(0, -zone.length) : text).replace(' ', 'T').replace(',', '.');
  const time = Date.parse(`${local}${zone.trim() || 'Z'}`);
  return Number.isNaN(time) || !hasDay(local.slice(0, 10), local.slice(8, 10)) ? undefined : time * 1000;
}

/** Whether a date exists. `Date.parse` takes February 30 as March 1. */
function hasDay(date: string, day: string): boolean {
  return Number(day) < 29 || new Date(date).getUTCDate() === Number(day);
}

/** Returns `readTime` for the times of a log, which are often equal to the previous one. */
export function timeReader(): (value: unknown) => number | undefined {
  let last: unknown;
  let time: number | undefined;
  return (value) => {
    if (value === last) return time;
    last = value;
    return (time = readTime(value));
  };
}
