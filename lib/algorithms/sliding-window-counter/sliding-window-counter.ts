import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { endOfFirstWindow, leaseOption, type Leasable } from '../lease.js';
import lua from './sliding-window-counter.lua.js';

/** Options of `algorithm: 'sliding-window-counter'`. */
export type SlidingWindowCounterOptions = Leasable;

export interface SlidingWindowCounterState {
  /** The current window's start on the clock's grid, in microseconds. */
  readonly start: number;
  /** Permits taken in the current window. */
  readonly current: number;
  /** Permits taken in the one before it. */
  readonly previous: number;
}

/** The two windows as they are now. */
function read(
  state: SlidingWindowCounterState | undefined,
  now: number,
  window: number,
): SlidingWindowCounterState {
  const start = now - (now % window);
  if (state && state.start >= start) return state;
  return { start, current: 0, previous: state?.start === start - window ? state.current : 0 };
}

/** Products up to here leave room for debt. */
const LARGEST = 2 ** 52;

/** How much `count` permits of the previous window weigh while so much time is left of it, rounded down. */
function weigh(count: number, left: number, window: number, unit: number): number {
  return Math.floor((count * Math.ceil(left / unit)) / Math.ceil(window / unit));
}

/** The longest time before the window's end at which `count` permits weigh at most `room`. */
function leftWhen(count: number, room: number, window: number, unit: number): number {
  return (Math.ceil(((room + 1) * Math.ceil(window / unit)) / count) - 1) * unit;
}

/**
 * The sliding window counter: two counters a key. The permits of the previous window count by the
 * share of it that the sliding window still covers, as if they had come evenly:
 * used = current + floor(previous x left / window), rounded as Upstash and Python's `limits` round it.
 *
 * An approximation (`exact: false`). Its arithmetic is exact: where a product would leave the integers that a double holds (limit x window above 2^52,
 * such as 52,000 a day), what is left of the window is counted in coarser units than microseconds.
 */
export const slidingWindowCounter: AlgorithmDefinition<
  SlidingWindowCounterOptions,
  SlidingWindowCounterState,
  'limit' | 'window' | 'unit'
> = {
  name: 'sliding-window-counter',
  exact: false,
  parameters: ['limit', 'window', 'unit'],
  options: { lease: leaseOption },
  spendBy: endOfFirstWindow,
  compile: ({ limit, window }) => ({
    limit,
    window,
    unit: Math.max(1, Math.ceil((limit * window) / LARGEST)),
  }),
  lua,

  step(state, now, cost, { limit, window, unit }, patience = 0) {
    if (limit === 0) return NEVER;

    const { start, current, previous } = read(state, now, window);
    const endsAfter = start + window - now;
    const left = Math.min(window, endsAfter);
    const weighted = weigh(previous, left, window, unit);
    const remaining = Math.max(0, limit - current - weighted);
    let resetAfter = previous > 0 ? endsAfter : 0;
    if (current > 0) resetAfter = endsAfter + window;

    if (cost > remaining && patience < Infinity) {
      let retryAfter: number | null = null;
      if (cost <= limit - current) {
        retryAfter = endsAfter - leftWhen(previous, limit - current - cost, window, unit);
      } else if (cost <= limit) {
        retryAfter = endsAfter + window - leftWhen(current, limit - cost, window, unit);
      }
      return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
    }

    if (cost > 0) resetAfter = endsAfter + window;
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: { start, current: current + cost, previous },
      expiresAfter: endsAfter + window,
    };
  },

  /** The window of a charge ends a window before the charge is gone. */
  refund(state, now, cost, { window }, receipt, onlyLast) {
    const { start, current, previous } = read(state, now, window);
    if (onlyLast || Number(receipt) <= now) return undefined;
    const expiresAfter = start + 2 * window - now;
    if (receipt === start + 2 * window && current > 0) {
      return { state: { start, current: Math.max(0, current - cost), previous }, expiresAfter };
    }
    if (receipt === start + window && previous > 0) {
      return { state: { start, current, previous: Math.max(0, previous - cost) }, expiresAfter };
    }
    return undefined;
  },
};
