import { NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { endOfWindow } from '../prefetch.js';
import { LONGEST } from '../rate.js';
import { calendarWindow } from './calendar-window.js';
import {
  fixedWindowTerms,
  type FixedWindowOptions,
  type FixedWindowParameter,
} from './fixed-window-options.js';
import lua from './fixed-window.lua.js';
import type { FixedWindowState } from './window-state.js';

export type { FixedWindowOptions, FixedWindowState };

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
} = {
  name: 'fixed-window',
  ...fixedWindowTerms,
  calendar: true,
  spendBy: endOfWindow,
  resolve: ({ calendar }) => (calendar === undefined ? undefined : calendarWindow),
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit } = parameters;
    if (limit === 0) return NEVER;

    const current = read(state, now, parameters);
    const { count, start, debt, window } = current;
    const remaining = Math.max(0, limit - count - debt);
    if (cost > remaining && patience < Infinity) {
      const ahead = Math.max(1, Math.ceil((debt + cost) / limit));
      const retryAfter = cost > limit ? null : start + lengthOf(ahead, window) - now;
      return {
        allowed: false,
        remaining,
        retryAfter,
        resetAfter: resetOf(current, now, limit),
        delay: 0,
      };
    }

    const taken = Math.min(cost, remaining);
    const next = { count: count + taken, start, debt: Math.min(LONGEST, debt + cost - taken), window };
    const resetAfter = resetOf(next, now, limit);
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
    const { limit } = parameters;
    if (limit === 0) return undefined;
    const { count, start, debt, window } = read(state, now, parameters);
    const gone = Number(receipt) <= now || Number(receipt) < start + window;
    if (onlyLast || gone || count + debt === 0) return undefined;
    const forgiven = Math.min(cost, debt);
    const next = { count: Math.max(0, count - (cost - forgiven)), start, debt: debt - forgiven, window };
    return { state: next, expiresAfter: resetOf(next, now, limit) };
  },
};
