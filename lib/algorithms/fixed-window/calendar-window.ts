import { NEVER, type Variant } from '../definition.js';
import { endOfWindow } from '../lease.js';
import { calendarWindowTerms, type CalendarWindowParameter } from './calendar-window-options.js';
import lua from './calendar-window.lua.js';
import type { FixedWindowOptions } from './fixed-window-options.js';
import { startOf, windowAt, type WindowStarts } from './window-starts.js';
import windowStartsLua from './window-starts.lua.js';

export interface CalendarWindowState {
  /** Permits taken in the window. */
  readonly count: number;
  /** The window's start, in microseconds. */
  readonly start: number;
  /** Permits that the windows after it will start with. */
  readonly debt: number;
}

/** The window as it is now. */
interface Window {
  readonly count: number;
  /** Its number, see window-starts.ts. */
  readonly window: number;
  readonly debt: number;
}

function read(
  state: CalendarWindowState | undefined,
  now: number,
  limit: number,
  starts: WindowStarts,
): Window {
  const reached = windowAt(now, starts, 0);
  const fresh = { count: 0, window: reached, debt: 0 };
  if (!state) return fresh;

  const window = windowAt(state.start, starts, 0.5);
  if (window >= reached) return { count: state.count, window, debt: state.debt };
  const debt = state.debt - limit * (reached - window - 1);
  if (debt <= 0) return fresh;
  const count = Math.min(debt, limit);
  return { count, window: reached, debt: debt - count };
}

/**
 * How long until nothing of it counts any more, and when it may be forgotten: windows that are not
 * known may be longer than the nearest one, but by less than a quarter.
 */
function resetOf(
  { count, window, debt }: Window,
  now: number,
  limit: number,
  starts: WindowStarts,
): { resetAfter: number; expiresAfter: number } {
  if (count === 0 && debt === 0) return { resetAfter: 0, expiresAfter: 0 };
  const free = window + 1 + Math.ceil(debt / limit);
  const resetAfter = startOf(free, starts) - now;
  const unknown = Math.max(0, free - 3);
  const expiresAfter = resetAfter + Math.ceil(unknown / 4) * (starts.last - starts.coming);
  return { resetAfter, expiresAfter };
}

function write({ count, window, debt }: Window, starts: WindowStarts): CalendarWindowState {
  return { count, start: startOf(window, starts), debt };
}

/**
 * The fixed window on the calendar: at most `limit` permits in a day, a week or a month of a time
 * zone. Its windows are as long as the calendar says: a day of 23 or 25 hours where the clocks change.
 *
 * See docs/adr/0011-calendar-windows.md.
 */
export const calendarWindow: Variant<FixedWindowOptions, CalendarWindowState, CalendarWindowParameter> = {
  name: 'calendar-window',
  ...calendarWindowTerms,
  lua: windowStartsLua + lua,
  spendBy: endOfWindow,

  step(state, now, cost, { limit, ...starts }, patience = 0) {
    if (limit === 0) return NEVER;

    const current = read(state, now, limit, starts);
    const { count, window, debt } = current;
    const remaining = Math.max(0, limit - count - debt);
    if (cost > remaining && patience < Infinity) {
      const ahead = Math.max(1, Math.ceil((debt + cost) / limit));
      const retryAfter = cost > limit ? null : startOf(window + ahead, starts) - now;
      const { resetAfter } = resetOf(current, now, limit, starts);
      return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
    }

    const taken = Math.min(cost, remaining);
    const next = { count: count + taken, window, debt: debt + cost - taken };
    return {
      allowed: true,
      remaining: remaining - taken,
      retryAfter: 0,
      ...resetOf(next, now, limit, starts),
      delay: 0,
      state: write(next, starts),
    };
  },

  refund(state, now, cost, { limit, ...starts }, receipt, onlyLast) {
    if (limit === 0) return undefined;
    const { count, window, debt } = read(state, now, limit, starts);
    const endsAt = startOf(window + 1, starts);
    const gone = Number(receipt) <= now || Number(receipt) < endsAt;
    if (onlyLast || gone || count + debt === 0) return undefined;
    const forgiven = Math.min(cost, debt);
    const next = { count: Math.max(0, count - (cost - forgiven)), window, debt: debt - forgiven };
    return { state: write(next, starts), expiresAfter: resetOf(next, now, limit, starts).expiresAfter };
  },
};
