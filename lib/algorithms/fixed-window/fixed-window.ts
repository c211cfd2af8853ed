import type { AlgorithmDefinition } from '../definition.js';
import lua from './fixed-window.lua.js';

/** Options of `algorithm: 'fixed-window'`. */
export interface FixedWindowOptions {
  /**
   * When a window starts: at the first hit after the last one ended, or at the multiples of the
   * window since the Unix epoch (UTC), the same for every subject.
   * @default 'first-hit'
   */
  readonly align?: 'first-hit' | 'clock';
}

export interface FixedWindowState {
  /** Permits taken in the window. */
  readonly count: number;
  /** The window's start, in microseconds. */
  readonly start: number;
}

/**
 * The fixed window: at most `limit` permits in a window, which starts again from zero when it ends.
 * The cheapest; across the edge of two windows up to twice the limit can pass in a short time.
 */
export const fixedWindow: AlgorithmDefinition<
  FixedWindowOptions,
  FixedWindowState,
  'limit' | 'window' | 'aligned'
> = {
  name: 'fixed-window',
  parameters: ['limit', 'window', 'aligned'],
  options: {
    align: {
      allowed: "'first-hit' or 'clock'",
      accepts: (value) => value === 'first-hit' || value === 'clock',
    },
  },
  compile: ({ limit, window, align }) => ({ limit, window, aligned: align === 'clock' ? 1 : 0 }),
  lua,

  step(state, now, cost, { limit, window, aligned }) {
    let count = 0;
    let start = aligned === 1 ? now - (now % window) : now;
    if (state && (aligned === 1 ? state.start >= start : now < state.start + window)) {
      count = state.count;
      start = state.start;
    }

    const left = start + window - now;
    if ((count + cost > limit && cost > 0) || limit === 0) {
      const retryAfter = cost > limit || limit === 0 ? null : left;
      const resetAfter = count > 0 ? left : 0;
      return { allowed: false, remaining: Math.max(0, limit - count), retryAfter, resetAfter };
    }

    count += cost;
    return {
      allowed: true,
      remaining: Math.max(0, limit - count),
      retryAfter: 0,
      resetAfter: count > 0 ? left : 0,
      state: { count, start },
      expiresAfter: left,
    };
  },
};
