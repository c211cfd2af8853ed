import type { AlgorithmDefinition, Numbers } from '../definition.js';
import { integer } from '../../contracts/option-checks.js';
import { endOfWindow, prefetchOption, type Prefetchable } from '../prefetch.js';
import { inheriting, inheritOption, type Inheriting } from '../proportional.js';
import { LONGEST } from '../rate.js';
import { allow, deny, NEVER } from '../result.js';
import { calendarWindow } from './calendar-window.js';
import { isTimeZone } from './calendar.js';
import { fixedWindowExamples } from './fixed-window.examples.js';
import { scaleWindow } from './scale-window.js';
import type { FixedWindowState } from './window-state.js';

/** Options of `algorithm: 'fixed-window'`. Its window may also be a calendar window: `'day'`, `'week'`, `'month'`. */
export interface FixedWindowOptions extends Prefetchable, Inheriting {
  /**
   * When a window starts, if it is a duration: `'first-hit'`: at the first request after the previous window ended;
   * `'clock'`: at the multiples of the window since the Unix epoch (UTC), the same for every subject.
   * @default 'first-hit'
   */
  readonly align?: 'first-hit' | 'clock';
  /**
   * Time zone of a calendar window: an IANA name such as `'Europe/Berlin'`.
   * @default 'UTC'
   */
  readonly timeZone?: string;
  /**
   * First day of a calendar window: of a `'week'` the ISO weekday from 1 (Monday) to 7 (Sunday), of a `'month'` the
   * day from 1 to 28.
   * @default 1
   */
  readonly anchor?: number;
}

type FixedWindowParameter = 'limit' | 'window' | 'aligned';

/** Returns the window that applies now. */
function read(
  state: FixedWindowState | undefined,
  now: number,
  { limit, window, aligned }: Numbers<FixedWindowParameter>,
): FixedWindowState {
  const start = aligned === 1 ? now - (now % window) : now;
  if (!state || state.count + state.debt === 0) return { count: 0, start, debt: 0, window }; // or all refunded

  let current = state;
  if (now >= state.start + state.window) {
    const passed = Math.floor((now - state.start) / state.window);
    const debt = state.debt - limit * (passed - 1);
    if (debt <= 0) return { count: 0, start, debt: 0, window };
    const count = Math.min(debt, limit);
    const reached = state.start + passed * state.window;
    current = { count, start: reached, debt: debt - count, window: state.window };
  }
  if (current.window >= window) return current;
  const own = aligned === 0 || current.start > now ? current.start : start;
  // A longer window that is aligned to the clock may end sooner than one that began at a request.
  if (current.start + current.window > own + window) return current;
  return { ...current, start: own, window };
}

/** Returns the time until the full limit is available. */
function resetOf({ count, start, debt, window }: FixedWindowState, now: number, limit: number): number {
  if (count === 0 && debt === 0) return 0;
  return start + window - now + lengthOf(Math.ceil(debt / limit), window);
}

/** Returns the length of a number of windows, at most `LONGEST`. */
function lengthOf(windows: number, window: number): number {
  return Math.min(LONGEST, windows * window);
}

/**
 * The fixed window: at most `limit` permits per window, with the count reset at the end of each. The cheapest
 * algorithm; around the boundary of two windows, up to twice the limit can be allowed in a short time.
 */
export const fixedWindow: AlgorithmDefinition<FixedWindowOptions, FixedWindowState, FixedWindowParameter> & {
  readonly calendar: true;
} = inheriting<FixedWindowOptions, FixedWindowState, FixedWindowParameter, { readonly calendar: true }>(
  scaleWindow,
  {
    name: 'fixed-window',
    bound: 'each window',
    examples: fixedWindowExamples,
    parameters: ['limit', 'window', 'aligned'],
    options: {
      align: {
        allowed: '"first-hit" or "clock"',
        accepts: (value) => value === 'first-hit' || value === 'clock',
      },
      timeZone: {
        allowed: 'the IANA name of a time zone, such as "UTC" or "Europe/Berlin"',
        accepts: isTimeZone,
      },
      anchor: {
        ...integer(1, 28),
        allowed:
          'with the window "week" an ISO weekday from 1 (Monday) to 7 (Sunday), with "month" a day from 1 to 28',
      },
      prefetch: prefetchOption,
      inherit: inheritOption,
    },
    check(rule) {
      const field = (['timeZone', 'anchor'] as const).find((name) => rule[name] !== undefined);
      if (field === undefined) return undefined;
      return `${field} is ${JSON.stringify(rule[field])}; allowed: only with the window "day", "week" or "month"`;
    },
    compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
    calendar: true,
    spendBy: endOfWindow,
    resolve: ({ calendar }) => (calendar === undefined ? undefined : calendarWindow),
    variants: [calendarWindow],

    step(state, now, cost, parameters, maxWait = 0) {
      const { limit } = parameters;
      if (limit === 0) return NEVER;

      const current = read(state, now, parameters);
      const { count, start, debt, window } = current;
      const remaining = Math.max(0, limit - count - debt);
      if (cost > remaining && maxWait < Infinity) {
        const ahead = Math.max(1, Math.ceil((debt + cost) / limit));
        const retryAfter = cost > limit ? null : start + lengthOf(ahead, window) - now;
        return deny(remaining, retryAfter, resetOf(current, now, limit));
      }

      const taken = Math.min(cost, remaining);
      const next = { count: count + taken, start, debt: Math.min(LONGEST, debt + cost - taken), window };
      const resetAfter = resetOf(next, now, limit);
      return allow(remaining - taken, 0, resetAfter, next, resetAfter);
    },

    refund(state, now, cost, parameters, receipt, onlyLast) {
      const { limit } = parameters;
      if (limit === 0) return undefined;
      const { count, start, debt, window } = read(state, now, parameters);
      const gone = Number(receipt) <= now || Number(receipt) < start + window;
      if (onlyLast || gone || count + debt === 0) return undefined;
      const forgiven = Math.min(cost, debt);
      const next = { count: Math.max(0, count - (cost - forgiven)), start, debt: debt - forgiven, window };
      return { state: next, expiresAfter: resetOf(next, now, limit) };
    },
  },
  [calendarWindow],
);
