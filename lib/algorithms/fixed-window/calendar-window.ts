import type { Numbers, Variant } from '../definition.js';
import { endOfWindow } from '../prefetch-option.js';
import { LONGEST } from '../rate.js';
import { Grid, type WindowState } from '../windows.js';
import { startOf, windowAt, windowFrom, windowsAround, type WindowStarts } from './calendar.js';

/** The options of a fixed window that a calendar window reads, or that it excludes. */
interface CalendarWindowOptions {
  readonly align?: 'first-hit' | 'clock';
  readonly timeZone?: string;
  readonly anchor?: number;
}

type Parameters = Numbers<'limit' | keyof WindowStarts>;

const lengthOf = ({ coming, last }: WindowStarts): number => last - coming;

class CalendarGrid extends Grid<Parameters> {
  readonly length = lengthOf;
  readonly isShared = () => true;
  readonly startOf = (instant: number, starts: WindowStarts) => startOf(windowAt(instant, starts), starts);
  readonly after = (start: number, windows: number, starts: WindowStarts) =>
    startOf(windowFrom(start, starts) + Math.min(windows, Math.floor(LONGEST / lengthOf(starts))), starts);
  readonly ended = (start: number, instant: number, starts: WindowStarts) =>
    Math.max(0, windowAt(instant, starts) - windowFrom(start, starts));

  /** Longer than until the full limit is available: a window of assumed length may be a quarter longer than the nearest known. */
  override expiryOf(_state: WindowState, now: number, resetAfter: number, starts: WindowStarts): number {
    if (now + resetAfter <= starts.last) return resetAfter;
    const unknown = windowFrom(now + resetAfter, starts) - 3;
    return resetAfter + Math.ceil(unknown / 4) * lengthOf(starts);
  }
}

/**
 * The fixed window on the calendar: at most `limit` permits per day, week or month of a time zone. A day has 23 or 25
 * hours when the clocks change.
 *
 * See docs/adr/0011-calendar-windows.md.
 */
export const calendarWindow: Variant<CalendarWindowOptions, WindowState, keyof Parameters> = {
  name: 'calendar-window',
  version: 2,
  parameters: ['limit', 'previous', 'current', 'coming', 'last'],
  check({ calendar, align, anchor }) {
    if (align !== undefined) {
      return `align is "${align}"; allowed: none with the window "${calendar}", which starts with the calendar's`;
    }
    if (calendar === 'day' && anchor !== undefined) {
      return `anchor is ${anchor}; allowed: none with the window "day"`;
    }
    if (calendar === 'week' && anchor !== undefined && anchor > 7) {
      return `anchor is ${anchor}; allowed with the window "week": an ISO weekday from 1 (Monday) to 7 (Sunday)`;
    }
    return undefined;
  },
  /** Returns windows of the nominal length. `compileAt` returns the actual ones. */
  compile: ({ limit, window }) => ({
    limit,
    previous: -window,
    current: 0,
    coming: window,
    last: 2 * window,
  }),
  compileAt({ limit, calendar: unit = 'day', timeZone = 'UTC', anchor = 1 }) {
    const calendar = { unit, timeZone, anchor };
    return (now) => ({ limit, ...windowsAround(calendar, now) });
  },
  spendBy: endOfWindow,
  keyParts: ({ timeZone = 'UTC', anchor = 1 }) => [
    ...(timeZone === 'UTC' ? [] : [timeZone]),
    ...(anchor === 1 ? [] : [anchor]),
  ],
  ...new CalendarGrid().counted(),
};
