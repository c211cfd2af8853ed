import type { AlgorithmDefinition } from '../definition.js';
import lua from './sliding-window-counter.lua.js';

/** `algorithm: 'sliding-window-counter'` has no options of its own. */
export type SlidingWindowCounterOptions = Record<never, never>;

export interface SlidingWindowCounterState {
  /** The current window's start on the clock's grid, in microseconds. */
  readonly start: number;
  /** Permits taken in the current window. */
  readonly current: number;
  /** Permits taken in the one before it. */
  readonly previous: number;
}

/** The longest time before the window's end at which `count` permits weigh at most `room`. */
function leftWhen(count: number, room: number, window: number): number {
  const left = Math.floor((room * window) / count);
  if (Math.ceil((count * left) / window) > room) return left - 1;
  if (Math.ceil((count * (left + 1)) / window) <= room) return left + 1;
  return left;
}

/**
 * The sliding window counter: two counters a key. The permits of the previous window count by the
 * share of it that the sliding window still covers, as if they had come evenly:
 * used = current + ceil(previous x left / window).
 */
export const slidingWindowCounter: AlgorithmDefinition<
  SlidingWindowCounterOptions,
  SlidingWindowCounterState,
  'limit' | 'window'
> = {
  name: 'sliding-window-counter',
  parameters: ['limit', 'window'],
  options: {},
  compile: ({ limit, window }) => ({ limit, window }),
  lua,

  step(state, now, cost, { limit, window }) {
    if (limit === 0) return { allowed: false, remaining: 0, retryAfter: null, resetAfter: 0 };

    let start = now - (now % window);
    let current = 0;
    let previous = 0;
    if (state && state.start >= start) {
      ({ start, current, previous } = state);
    } else if (state && state.start === start - window) {
      previous = state.current;
    }

    const endsAfter = start + window - now;
    const left = Math.min(window, endsAfter);
    const weighted = Math.ceil((previous * left) / window);
    const remaining = Math.max(0, limit - current - weighted);
    let resetAfter = previous > 0 ? endsAfter : 0;
    if (current > 0) resetAfter = endsAfter + window;

    if (cost > remaining) {
      let retryAfter: number | null = null;
      if (cost <= limit - current) {
        retryAfter = endsAfter - leftWhen(previous, limit - current - cost, window);
      } else if (cost <= limit) {
        retryAfter = endsAfter + window - leftWhen(current, limit - cost, window);
      }
      return { allowed: false, remaining, retryAfter, resetAfter };
    }

    current += cost;
    if (cost > 0) resetAfter = endsAfter + window;
    return {
      allowed: true,
      remaining: remaining - cost,
      retryAfter: 0,
      resetAfter,
      state: { start, current, previous },
      expiresAfter: endsAfter + window,
    };
  },
};
