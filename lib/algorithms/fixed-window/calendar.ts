import type { CalendarWindow } from '../definition.js';

/** Defines calendar windows: their unit, time zone and first day. */
export interface Calendar {
  readonly unit: CalendarWindow;
  /** IANA name. */
  readonly timeZone: string;
  /** The ISO weekday (1 to 7) on which weeks start, or the day (1 to 28) on which months start. */
  readonly anchor: number;
}

/**
 * The starts of four consecutive windows, in microseconds since the epoch; `current` starts the window that contains
 * the current time.
 *
 * Windows are numbered: 0 starts at `previous`. Windows outside these four have an assumed length, that of the
 * nearest one.
 */
export type WindowStarts = Readonly<Record<'previous' | 'current' | 'coming' | 'last', number>>;

/** Offsets from the current window of the windows to compute: enough even if the time zone skips a day. */
const WINDOWS_AROUND = [-3, -2, -1, 0, 1, 2, 3, 4];

const DAY_MS = 86_400_000;

/** Whether a value is the IANA name of a time zone that the runtime supports. */
export function isTimeZone(value: unknown): boolean {
  if (typeof value !== 'string' || !/^[A-Za-z]/.test(value)) return false;
  try {
    clockOf(value);
    return true;
  } catch {
    return false;
  }
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
  const clock = clockOf(calendar.timeZone);
  const local = localTime(clock, Math.floor(now / 1000));
  const starts = WINDOWS_AROUND.map((count) => firstInstant(startDate(calendar, local, count), clock) * 1000);
  const distinct = [...new Set(starts)].sort((a, b) => a - b);
  const index = distinct.findLastIndex((start) => start <= now);
  const [previous, current, coming, last] = distinct.slice(index - 1) as [number, number, number, number];
  return { previous, current, coming, last };
}

/** Returns the date on which a window starts, some windows after that of a local time, as midnight in UTC. */
function startDate({ unit, anchor }: Calendar, local: number, count: number): number {
  const date = new Date(local);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === 'month') return Date.UTC(year, month + count, anchor);
  if (unit === 'day') return Date.UTC(year, month, day + count);
  const weekday = date.getUTCDay() || 7;
  return Date.UTC(year, month, day - weekday + anchor + 7 * count);
}

/** Returns the first instant of a date: 01:00 if the clocks skip midnight, the first 00:00 if they repeat it. */
function firstInstant(midnight: number, clock: Intl.DateTimeFormat): number {
  // The offsets of the day before and the day after: they differ if the clocks change in between.
  const instants = [midnight - DAY_MS, midnight + DAY_MS].map((at) => midnight - localTime(clock, at) + at);
  const atMidnight = instants.filter((instant) => localTime(clock, instant) === midnight);
  return atMidnight.length > 0 ? Math.min(...atMidnight) : Math.max(...instants);
}

/** Returns what the clocks of a time zone show at an instant, to the second, as the same time in UTC. */
function localTime(clock: Intl.DateTimeFormat, instant: number): number {
  const parts = Object.fromEntries(
    clock.formatToParts(instant).map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = parts as Record<Intl.DateTimeFormatPartTypes, number>;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** @throws RangeError if the runtime does not support the time zone */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric';
  const date = { year: numeric, month: numeric, day: numeric } as const;
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-US', { timeZone, ...date, ...time });
}

/** Returns the number of the window that contains an instant. */
export function windowAt(instant: number, { previous, current, coming, last }: WindowStarts): number {
  if (instant >= last) return 3 + Math.floor((instant - last) / (last - coming));
  if (instant >= coming) return 2;
  if (instant >= current) return 1;
  return Math.floor((instant - previous) / (current - previous));
}

/** Returns the instant at which the window with a number starts. */
export function startOf(window: number, { previous, current, coming, last }: WindowStarts): number {
  if (window >= 3) return last + (window - 3) * (last - coming);
  if (window === 2) return coming;
  return previous + window * (current - previous);
}

/**
 * Returns the number of the window that starts nearest to an instant. Starts that were calculated with other known windows
 * differ by days where the length was assumed.
 */
export function windowFrom(start: number, starts: WindowStarts): number {
  const window = windowAt(start, starts);
  return startOf(window + 1, starts) - start < start - startOf(window, starts) ? window + 1 : window;
}
