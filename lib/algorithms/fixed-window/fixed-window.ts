import { NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { endOfWindow } from '../lease.js';
import { calendarWindow } from './calendar-window.js';
import {
  fixedWindowTerms,
  type FixedWindowOptions,
  type FixedWindowParameter,
} from './fixed-window-options.js';
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

/** The window as it is now. */
function read(
  state: FixedWindowState | undefined,
  now: number,
  { limit, window, aligned }: Numbers<FixedWindowParameter>,
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
