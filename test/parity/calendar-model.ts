import { sum, type Model } from './brute-force.js';
import type { CalendarSketch } from './rule-sketch.js';

const DAY = 86_400_000;

/** Thursday is the fourth day of a week, and the epoch's first. */
const EPOCH_WEEKDAY = 4;

const formats = new Map<string, Intl.DateTimeFormat>();
const dates = new Map<string, readonly number[]>();

/** Returns month, day and year on a calendar in that time zone. Cached. */
function dateAt(at: bigint, timeZone = 'UTC'): readonly number[] {
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { timeZone });
  const date =
    dates.get(`${timeZone} ${at}`) ??
    format
      .format(Number(at / 1000n))
      .split('/')
      .map(Number);
  formats.set(timeZone, format);
  dates.set(`${timeZone} ${at}`, date);
  return date;
}

/** Returns a number that all instants of one window share, and no others. */
function windowOf(at: bigint, { unit, timeZone, anchor = 1 }: CalendarSketch): number {
  const [month, day, year] = dateAt(at, timeZone) as [number, number, number];
  const days = Date.UTC(year, month - 1, day) / DAY;
  switch (unit) {
    case 'day':
      return days;
    case 'week':
      return Math.floor((days + EPOCH_WEEKDAY - anchor) / 7);
    case 'month':
      return year * 12 + month - (day < anchor ? 1 : 0);
  }
}

/** Returns all requests on a date of this day, week or month. */
export const calendarWindow: Model = (admitted, now, { limit, calendar }) => {
  const current = windowOf(now, calendar);
  return limit - sum(admitted.filter(({ at }) => windowOf(at, calendar) === current));
};
