import type { Variant } from '../definition.js';
import { endOfWindow } from '../prefetch.js';
import { LONGEST } from '../rate.js';
import { allow, deny, NEVER } from '../result.js';
import { windowsAround } from './calendar.js';
import { startOf, windowAt, type WindowStarts } from './window-starts.js';
import type { FixedWindowState } from './window-state.js';

/** The options of a fixed window that a calendar window reads, or that it excludes. */
interface CalendarWindowOptions {
  readonly align?: 'first-hit' | 'clock';
  readonly timeZone?: string;
  readonly anchor?: number;
}

type CalendarWindowParameter = 'limit' | keyof WindowStarts;

/** The window that applies now. */
interface Window {
  readonly count: number;
  readonly debt: number;
  readonly start: number;
  /** The instant at which it ends. */
  readonly end: number;
  /** Number of the rule's own window that applies after `end`, see window-starts.ts. */
  readonly next: number;
}

/** Returns the rule's own window with a number. */
function own(count: number, debt: number, window: number, starts: WindowStarts): Window {
  return { count, debt, start: startOf(window, starts), end: startOf(window + 1, starts), next: window + 1 };
}

function read(state: FixedWindowState | undefined, now: number, limit: number, starts: WindowStarts): Window {
  const reached = windowAt(now, starts, 0);
  if (!state) return own(0, 0, reached, starts);

  const { count, start, debt } = state;
  const end = start + state.window;
  if (start > now) return own(count, debt, Math.max(reached, windowAt(start, starts, 0.5)), starts);
  if (now < end) {
    if (count + debt === 0 || end <= startOf(reached + 1, starts)) return own(count, debt, reached, starts);
    return { count, debt, start, end, next: windowAt(end, starts, 0) };
  }
  const owed = debt - limit * (reached - windowAt(end, starts, 0.5));
  if (owed <= 0) return own(0, 0, reached, starts);
  const taken = Math.min(owed, limit);
  return own(taken, owed - taken, reached, starts);
}

/** Returns the instant after a number of windows, and how many of those windows have an assumed length. */
function endOf(
  { end, next }: Window,
  windows: number,
  starts: WindowStarts,
): { at: number; unknown: number } {
  if (windows === 1) return { at: end, unknown: Math.max(0, next - 3) };
  const length = starts.last - starts.coming;
  const number = next - 1 + Math.min(windows, Math.floor(LONGEST / length));
  return { at: startOf(number, starts), unknown: Math.max(0, number - 3) };
}

/**
 * Returns the time until the full limit is available, and the time after which the state expires. The latter is
 * longer, since a window of assumed length may be up to a quarter longer than the nearest known one.
 */
function resetOf(
  window: Window,
  now: number,
  limit: number,
  starts: WindowStarts,
): { resetAfter: number; expiresAfter: number } {
  const { count, debt } = window;
  if (count === 0 && debt === 0) return { resetAfter: 0, expiresAfter: 0 };
  const { at, unknown } = endOf(window, 1 + Math.ceil(debt / limit), starts);
  const resetAfter = at - now;
  return { resetAfter, expiresAfter: resetAfter + Math.ceil(unknown / 4) * (starts.last - starts.coming) };
}

function write({ count, start, debt, end }: Window): FixedWindowState {
  return { count, start, debt, window: end - start };
}

/**
 * The fixed window on the calendar: at most `limit` permits per day, week or month of a time zone. A day has 23 or 25
 * hours when the clocks change.
 *
 * See docs/adr/0011-calendar-windows.md.
 */
export const calendarWindow: Variant<CalendarWindowOptions, FixedWindowState, CalendarWindowParameter> = {
  name: 'calendar-window',
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

  step(state, now, cost, { limit, ...starts }, maxWait = 0) {
    if (limit === 0) return NEVER;

    const current = read(state, now, limit, starts);
    const { count, debt } = current;
    const remaining = Math.max(0, limit - count - debt);
    if (cost > remaining && maxWait < Infinity) {
      const ahead = Math.max(1, Math.ceil((debt + cost) / limit));
      const retryAfter = cost > limit ? null : endOf(current, ahead, starts).at - now;
      return deny(remaining, retryAfter, resetOf(current, now, limit, starts).resetAfter);
    }

    const taken = Math.min(cost, remaining);
    const next = { ...current, count: count + taken, debt: Math.min(LONGEST, debt + cost - taken) };
    const { resetAfter, expiresAfter } = resetOf(next, now, limit, starts);
    return allow(remaining - taken, 0, resetAfter, write(next), expiresAfter);
  },

  refund(state, now, cost, { limit, ...starts }, receipt, onlyLast) {
    if (limit === 0) return undefined;
    const current = read(state, now, limit, starts);
    const { count, debt, end } = current;
    const gone = Number(receipt) <= now || Number(receipt) < end;
    if (onlyLast || gone || count + debt === 0) return undefined;
    const forgiven = Math.min(cost, debt);
    const next = { ...current, count: Math.max(0, count - (cost - forgiven)), debt: debt - forgiven };
    return { state: write(next), expiresAfter: resetOf(next, now, limit, starts).expiresAfter };
  },
};
