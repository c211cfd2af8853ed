import { DateTime, IANAZone } from 'luxon';
import type { CalendarWindow } from '../calendar-length.js';
import type { WindowStarts } from './window-starts.js';

/** Defines calendar windows: their unit, time zone and first day. */
export interface Calendar {
  readonly unit: CalendarWindow;
  /** IANA name. */
  readonly timeZone: string;
  /** The ISO weekday (1 to 7) on which weeks start, or the day (1 to 28) on which months start. */
  readonly anchor: number;
}

/** Offsets from the current window of the windows to compute: enough even if the time zone skips a day. */
const WINDOWS_AROUND = [-3, -2, -1, 0, 1, 2, 3, 4];

/** Whether a value is the IANA name of a time zone that the runtime supports. */
export function isTimeZone(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z]/.test(value) && IANAZone.isValidZone(value);
}

/** The last result for each calendar. */
const known = new Map<string, WindowStarts>();

/** Returns the starts of the windows around an instant, in microseconds since the epoch. Computed once per window. */
export function windowsAround(calendar: Calendar, now: number): WindowStarts {
  const name = `${calendar.unit} ${calendar.timeZone} ${calendar.anchor}`;
  const last = known.get(name);
  if (last && last.current <= now && now < last.coming) return last;
  const starts = reckon(calendar, now);
  known.set(name, starts);
  return starts;
}

function reckon(calendar: Calendar, now: number): WindowStarts {
  const nominal = nominalStart(calendar, now);
  const starts = WINDOWS_AROUND.map((count) =>
    firstInstant(nominal.plus({ [calendar.unit]: count }), calendar.timeZone),
  );
  const distinct = [...new Set(starts)].sort((a, b) => a - b);
  const index = distinct.findLastIndex((start) => start <= now);
  const [previous, current, coming, last] = distinct.slice(index - 1) as [number, number, number, number];
  return { previous, current, coming, last };
}

/** Returns the date on which the window of an instant starts, as midnight in UTC, which has no gaps. */
function nominalStart({ unit, timeZone, anchor }: Calendar, now: number): DateTime {
  const { year, month, day, weekday } = DateTime.fromMillis(Math.floor(now / 1000), { zone: timeZone });
  if (unit === 'month') return DateTime.utc(year, month, anchor);
  const date = DateTime.utc(year, month, day);
  return unit === 'week' ? date.minus({ days: weekday - anchor }) : date;
}

/** Returns the first instant of a date: 01:00 if the clocks skip midnight, the first 00:00 if they repeat it. */
function firstInstant({ year, month, day }: DateTime, zone: string): number {
  return DateTime.fromObject({ year, month, day }, { zone }).getPossibleOffsets()[0]!.toMillis() * 1000;
}
