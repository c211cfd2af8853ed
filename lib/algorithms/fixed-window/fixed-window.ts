import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { calendarWindow } from './calendar-window.js';
import { isTimeZone } from './calendar.js';
import type { FixedWindowOptions } from './fixed-window-options.js';
import lua from './fixed-window.lua.js';

export type { FixedWindowOptions };

export interface FixedWindowState {
  /** Permits taken in the window. */
  readonly count: number;
  /** The window's start, in microseconds. */
  readonly start: number;
  /** Permits that the windows after it will start with. */
  readonly debt: number;
}

type FixedWindowParameters = Readonly<Record<'limit' | 'window' | 'aligned', number>>;

/** The window as it is now. */
function read(
  state: FixedWindowState | undefined,
  now: number,
  { limit, window, aligned }: FixedWindowParameters,
): FixedWindowState {
  const fresh = { count: 0, start: aligned === 1 ? now - (now % window) : now, debt: 0 };
  if (!state || state.count + state.debt === 0) return fresh; // or all given back

  const reached = aligned === 1 ? fresh.start : now;
  if (state.start + (aligned === 1 ? 1 : window) > reached) return state;
  const passed = Math.max(1, Math.floor((reached - state.start) / window));
  const debt = state.debt - limit * (passed - 1);
  if (debt <= 0) return fresh;
  const count = Math.min(debt, limit);
  return { count, start: aligned === 1 ? fresh.start : state.start + passed * window, debt: debt - count };
}

/** How long until nothing of it counts any more. */
function resetOf(
  { count, start, debt }: FixedWindowState,
  now: number,
  limit: number,
  window: number,
): number {
  if (count === 0 && debt === 0) return 0;
  return start + window - now + Math.ceil(debt / limit) * window;
}

/**
 * The fixed window: at most `limit` permits in a window, which starts again from zero when it ends.
 * The cheapest; across the edge of two windows up to twice the limit can pass in a short time.
 */
export const fixedWindow: AlgorithmDefinition<
  FixedWindowOptions,
  FixedWindowState,
  'limit' | 'window' | 'aligned'
> & { readonly calendar: true } = {
  name: 'fixed-window',
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
      allowed:
        'with the window "week" an ISO weekday from 1 (Monday) to 7 (Sunday), with "month" a day from 1 to 28',
      accepts: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 28,
    },
  },
  calendar: true,
  resolve: ({ calendar }) => (calendar === undefined ? undefined : calendarWindow),
  check(rule) {
    const field = (['timeZone', 'anchor'] as const).find((name) => rule[name] !== undefined);
    if (field === undefined) return undefined;
    return `${field} is ${JSON.stringify(rule[field])}; allowed: only with the window "day", "week" or "month"`;
  },
  compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit, window } = parameters;
    if (limit === 0) return NEVER;

    const current = read(state, now, parameters);
    const { count, start, debt } = current;
    const remaining = Math.max(0, limit - count - debt);
    if (cost > remaining && patience < Infinity) {
      const ahead = Math.max(1, Math.ceil((debt + cost) / limit));
      const retryAfter = cost > limit ? null : start + ahead * window - now;
      return {
        allowed: false,
        remaining,
        retryAfter,
        resetAfter: resetOf(current, now, limit, window),
        delay: 0,
      };
    }

    const taken = Math.min(cost, remaining);
    const next = { count: count + taken, start, debt: debt + cost - taken };
    const resetAfter = resetOf(next, now, limit, window);
    return {
      allowed: true,
      remaining: remaining - taken,
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: next,
      expiresAfter: resetAfter,
    };
  },

  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, window } = parameters;
    if (limit === 0) return undefined;
    const { count, start, debt } = read(state, now, parameters);
    const gone = Number(receipt) <= now || Number(receipt) < start + window;
    if (onlyLast || gone || count + debt === 0) return undefined;
    const forgiven = Math.min(cost, debt);
    const next = { count: Math.max(0, count - (cost - forgiven)), start, debt: debt - forgiven };
    return { state: next, expiresAfter: resetOf(next, now, limit, window) };
  },
};
