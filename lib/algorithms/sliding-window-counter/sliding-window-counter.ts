import { NEVER, type AlgorithmDefinition } from '../definition.js';
import { endOfFirstWindow, prefetchOption, type Prefetchable } from '../prefetch.js';
import { LONGEST } from '../rate.js';
import lua from './sliding-window-counter.lua.js';

/** Options of `algorithm: 'sliding-window-counter'`. */
export type SlidingWindowCounterOptions = Prefetchable;

export interface SlidingWindowCounterState {
  /** The current window's start on the clock's grid, in microseconds. */
  readonly start: number;
  /** Permits taken in the current window. */
  readonly current: number;
  /** Permits taken in the one before it. */
  readonly previous: number;
  /** How long they are, in microseconds. */
  readonly window: number;
  /**
   * Until when a rule with a shorter window goes by these, in microseconds since the epoch; 0: until none of
   * them counts.
   */
  readonly until: number;
}

type Windows = SlidingWindowCounterState;

/** The two windows as they are now: the rule's own, or longer ones that are in use. */
function read(state: Windows | undefined, now: number, window: number): Windows {
  if (!state) return { start: now - (now % window), current: 0, previous: 0, window, until: 0 };
  if (state.window === window) return at(state, now);
  if (now >= expiryOf(state)) return read(undefined, now, window);
  if (state.window < window) return convert(state, Math.max(now, state.start), window);
  const until = state.until === 0 ? expiryOf(state) : state.until;
  return now < until ? { ...at(state, now), until } : at(convert(state, until, window), now);
}

/** The instant at which none of it counts. */
function expiryOf({ start, window }: Windows): number {
  return start + 2 * window;
}

/** Windows of the same length at an instant. */
function at(state: Windows, instant: number): Windows {
  const { window } = state;
  const start = instant - (instant % window);
  if (state.start >= start) return state.until === 0 ? state : { ...state, until: 0 };
  return {
    start,
    current: 0,
    previous: state.start === start - window ? state.current : 0,
    window,
    until: 0,
  };
}

/** Takes all that counts at an instant, rounded up, for taken in the current window of another length. */
function convert(state: Windows, instant: number, window: number): Windows {
  const { start, current, previous, window: length } = at(state, instant);
  const left = Math.min(length, start + length - instant);
  const used = current + Math.ceil(previous * (left / length));
  return { start: instant - (instant % window), current: used, previous: 0, window, until: 0 };
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

/** The unit in which what is left of a window is counted, in microseconds. */
function unitOf(limit: number, window: number): number {
  return Math.max(1, Math.ceil((limit * window) / LARGEST));
}

/** How long until a hit fits that does not now; `null` if it never does. */
function waitFor(cost: number, windows: Windows, now: number, limit: number): number | null {
  const { start, current, previous, window } = windows;
  const unit = unitOf(limit, window);
  const endsAfter = start + window - now;
  if (cost <= limit - current) return endsAfter - leftWhen(previous, limit - current - cost, window, unit);
  if (cost <= limit) return endsAfter + window - leftWhen(current, limit - cost, window, unit);
  return null;
}

/** The same, where longer windows stop to count before that. */
function waitAfter(
  wait: number,
  cost: number,
  now: number,
  state: Windows,
  until: number,
  { limit, window }: { limit: number; window: number },
): number {
  if (until === 0 || now + wait < until) return wait;
  const own = convert(state, until, window);
  const fits = own.current + cost <= limit;
  const ownWait = fits ? 0 : waitFor(cost, own, until, limit)!;
  return Math.min(until + ownWait, expiryOf(state)) - now;
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
  options: { prefetch: prefetchOption },
  spendBy: endOfFirstWindow,
  compile: ({ limit, window }) => ({
    limit,
    window,
    unit: unitOf(limit, window),
  }),
  lua,

  step(state, now, cost, parameters, patience = 0) {
    const { limit } = parameters;
    if (limit === 0) return NEVER;

    const windows = read(state, now, parameters.window);
    const { start, current, previous, window, until } = windows;
    const unit = window === parameters.window ? parameters.unit : unitOf(limit, window);
    const endsAfter = start + window - now;
    const left = Math.min(window, endsAfter);
    const weighted = weigh(previous, left, window, unit);
    const remaining = Math.max(0, limit - current - weighted);
    let resetAfter = previous > 0 ? endsAfter : 0;
    if (current > 0) resetAfter = endsAfter + window;

    if (cost > remaining && patience < Infinity) {
      const wait = waitFor(cost, windows, now, limit);
      const retryAfter = wait && waitAfter(wait, cost, now, state ?? windows, until, parameters);
      return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
    }

    if (cost > 0) resetAfter = endsAfter + window;
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: { start, current: Math.min(LONGEST, current + cost), previous, window, until },
      expiresAfter: endsAfter + window,
    };
  },

  /** The window of a charge ends a window before the charge is gone. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const windows = read(state, now, parameters.window);
    const { start, current, previous, window } = windows;
    if (onlyLast || Number(receipt) <= now) return undefined;
    const expiresAfter = start + 2 * window - now;
    if (receipt === start + 2 * window && current > 0) {
      return { state: { ...windows, current: Math.max(0, current - cost) }, expiresAfter };
    }
    if (receipt === start + window && previous > 0) {
      return { state: { ...windows, previous: Math.max(0, previous - cost) }, expiresAfter };
    }
    return undefined;
  },
};
