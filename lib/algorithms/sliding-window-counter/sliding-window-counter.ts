import { allow, deny, NEVER, type AlgorithmDefinition, type Numbers } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch-option.js';
import { LONGEST } from '../rate.js';
import { setBack } from '../../contracts/clock.js';

/** Options of `algorithm: 'sliding-window-counter'`. */
export type SlidingWindowCounterOptions = Prefetchable;

type Parameters = Numbers<'limit' | 'window' | 'unit'>;

/** Two windows that are aligned to the clock. */
export interface WindowCounts {
  /** When the state was written, in microseconds since the epoch: an instant of the current window. */
  readonly written: number;
  /** Permits taken in the current window. */
  readonly current: number;
  /** Permits taken in the previous window. */
  readonly previous: number;
}

/** Returns the windows that apply now. */
function read(state: WindowCounts | undefined, now: number, { window, unit }: Parameters): WindowCounts {
  if (!state) return { written: now, current: 0, previous: 0 };
  const { written, current, previous } = state;
  const start = startOf(written, window);
  if (setBack(written, now) > 0) {
    const counted = current + weigh(previous, start + window - written, window, unit);
    return { written: now, current: Math.min(LONGEST, counted), previous: 0 };
  }
  const reached = startOf(now, window);
  if (start >= reached) return { written: Math.max(now, written), current, previous };
  return { written: now, current: 0, previous: start === reached - window ? current : 0 };
}

/** Returns the start of the window that contains an instant. */
function startOf(instant: number, window: number): number {
  return instant - (instant % window);
}

/** The largest product without debt: doubles are exact up to 2^53, which leaves room for debt. */
const LARGEST = 2 ** 52;

/** Returns how many of `count` permits still count while the sliding window covers `left` of theirs, rounded down. */
function weigh(count: number, left: number, window: number, unit: number): number {
  return Math.floor((count * Math.ceil(left / unit)) / Math.ceil(window / unit));
}

/** Returns the largest `left` for which `weigh` returns at most `room`. */
function leftWhen(count: number, room: number, window: number, unit: number): number {
  return (Math.ceil(((room + 1) * Math.ceil(window / unit)) / count) - 1) * unit;
}

/** Returns how long until a request would be allowed that is denied now; `null` if it never would be. */
function retryAfter(
  cost: number,
  { written, current, previous }: WindowCounts,
  now: number,
  { limit, window, unit }: Parameters,
): number | null {
  if (cost > limit) return null;
  const endsAfter = startOf(written, window) + window - now;
  if (cost <= limit - current) return endsAfter - leftWhen(previous, limit - current - cost, window, unit);
  return endsAfter + window - leftWhen(current, limit - cost, window, unit);
}

/** Returns how long until the full limit is available: until a request of that cost would be allowed. */
function fullAfter(windows: WindowCounts, now: number, parameters: Parameters): number {
  if (windows.current + windows.previous === 0) return 0;
  return Math.max(0, retryAfter(parameters.limit, windows, now, parameters)!);
}

/**
 * The sliding window counter: two counters per key. The permits of the previous window are weighted by the part of it
 * that the sliding window still covers, as if they had been taken evenly:
 * used = current + floor(previous x left / window), rounded as in Upstash and Python's `limits`.
 *
 * An approximation (`exact: false`) with exact arithmetic: if limit x window exceeds 2^52 (such as 53,000 per day),
 * time is measured in units coarser than a microsecond, so that no product exceeds the exact integers of a double.
 *
 * After the clock was set back, what counted at the last write counts in the current window.
 */
export const slidingWindowCounter: AlgorithmDefinition<
  SlidingWindowCounterOptions,
  WindowCounts,
  keyof Parameters
> = {
  name: 'sliding-window-counter',
  version: 2,
  bound: 'any window',
  examples: [{ variant: '', rule: () => ({}) }],
  exact: false,
  parameters: ['limit', 'window', 'unit'],
  options: { prefetch: prefetchOption },
  spendBy: (_nth, { now }, { window }) => startOf(now, window) + window - 1,
  compile: ({ limit, window }) => ({
    limit,
    window,
    unit: Math.max(1, Math.ceil((limit * window) / LARGEST)),
  }),

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, unit } = parameters;
    if (limit === 0) return NEVER;

    const windows = read(state, now, parameters);
    const { written, current, previous } = windows;
    const endsAfter = startOf(written, window) + window - now;
    const weighted = weigh(previous, Math.min(window, endsAfter), window, unit);
    const remaining = Math.max(0, limit - current - weighted);

    if (cost > remaining && maxWait < Infinity) {
      const wait = retryAfter(cost, windows, now, parameters);
      return deny(remaining, wait, fullAfter(windows, now, parameters));
    }

    const next = { written, current: Math.min(LONGEST, current + cost), previous };
    const resetAfter = fullAfter(next, now, parameters);
    return allow(Math.max(0, remaining - cost), 0, resetAfter, next, endsAfter + window);
  },

  /** The receipt is in the window after that of the charge, or its end. The charge is refunded as long as that counts. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    if (onlyLast || setBack(state.written, now) > 0) return undefined;
    const { window, unit } = parameters;
    const windows = read(state, now, parameters);
    const { written, current, previous } = windows;
    const start = startOf(written, window);
    const left = Math.min(window, start + window - now);
    const expiresAfter = start + 2 * window - now;
    const age = Math.ceil((Number(receipt) - start) / window);
    if (age === 2 && current > 0) {
      return { state: { ...windows, current: Math.max(0, current - cost) }, expiresAfter };
    }
    if (age === 1 && weigh(previous, left, window, unit) > 0) {
      return { state: { ...windows, previous: Math.max(0, previous - cost) }, expiresAfter };
    }
    return undefined;
  },

  isAhead: ({ written }, now) => setBack(written, now) > 0,
};
