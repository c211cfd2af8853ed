import type { AlgorithmDefinition } from '../definition.js';
import { prefetchOption, type Prefetchable } from '../prefetch.js';
import { inheriting, inheritOption, scaleCount, type Inheriting, type Scale } from '../proportional.js';
import { LONGEST } from '../rate.js';
import { allow, deny, NEVER } from '../result.js';
import { slidingWindowCounterExamples } from './sliding-window-counter.examples.js';

/** Options of `algorithm: 'sliding-window-counter'`. */
export interface SlidingWindowCounterOptions extends Prefetchable, Inheriting {}

export interface SlidingWindowCounterState {
  /** Start of the current window, a multiple of `window`, in microseconds since the epoch. */
  readonly start: number;
  /** Permits taken in the current window. */
  readonly current: number;
  /** Permits taken in the previous window. */
  readonly previous: number;
  /** Length of both windows, in microseconds. */
  readonly window: number;
  /**
   * Until when these windows also apply to a rule with a shorter window, in microseconds since the epoch; 0: until
   * they no longer count.
   */
  readonly until: number;
}

type Windows = SlidingWindowCounterState;

/** Returns the two windows that apply now: the rule's own, or longer ones that are still in use. */
function read(state: Windows | undefined, now: number, window: number): Windows {
  if (!state) return { start: now - (now % window), current: 0, previous: 0, window, until: 0 };
  if (state.window === window) return at(state, now);
  if (now >= expiryOf(state)) return read(undefined, now, window);
  if (state.window < window) return convert(state, Math.max(now, state.start), window);
  const until = state.until === 0 ? expiryOf(state) : state.until;
  return now < until ? { ...at(state, now), until } : at(convert(state, until, window), now);
}

/** Returns the instant from which none of the permits count. */
function expiryOf({ start, window }: Windows): number {
  return start + 2 * window;
}

/** Advances the windows to those of an instant. */
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

/** Converts windows to another length: all permits that count at an instant, rounded up, count as taken at it. */
function convert(state: Windows, instant: number, window: number): Windows {
  const { start, current, previous, window: length } = at(state, instant);
  const left = Math.min(length, start + length - instant);
  const used = current + countedAt(left, previous, length);
  return { start: instant - (instant % window), current: used, previous: 0, window, until: 0 };
}

/** Returns how many of `count` permits count in a conversion while `left` of their window is covered, rounded up. */
function countedAt(left: number, count: number, window: number): number {
  return Math.ceil(count * (left / window));
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

/** Returns the unit in which `weigh` measures time, in microseconds. */
function unitOf(limit: number, window: number): number {
  return Math.max(1, Math.ceil((limit * window) / LARGEST));
}

/** Returns how long until a denied request would be allowed, if its windows apply until then. */
function waitFor(cost: number, windows: Windows, now: number, limit: number): number {
  const { start, current, previous, window } = windows;
  const unit = unitOf(limit, window);
  const endsAfter = start + window - now;
  if (cost <= limit - current) return endsAfter - leftWhen(previous, limit - current - cost, window, unit);
  return endsAfter + window - leftWhen(current, limit - cost, window, unit);
}

/** Corrects a wait that lasts beyond `until`, when longer windows stop to apply. */
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
  const ownWait = fits ? 0 : waitFor(cost, own, until, limit);
  return Math.min(until + ownWait, expiryOf(state)) - now;
}

/** Returns how long until shorter windows leave room: a denial stores nothing, so each request converts them anew. */
function waitForShorter(cost: number, now: number, state: Windows, limit: number): number {
  const { start, current, previous, window } = at(state, Math.max(now, state.start));
  const isPrevious = cost + current <= limit;
  const [endsAt, count] = isPrevious ? [start + window, previous] : [start + 2 * window, current];
  const room = isPrevious ? limit - cost - current : limit - cost;
  let left = Math.floor((room / count) * window);
  while (countedAt(left, count, window) > room) left -= 1;
  return endsAt - left - now;
}

/** Returns how long until a request would be allowed that is denied now; `null` if it never would be. */
function retryAfter(
  cost: number,
  windows: Windows,
  now: number,
  state: Windows,
  parameters: { limit: number; window: number },
): number | null {
  const { limit, window } = parameters;
  if (cost > limit) return null;
  if (state.window < window && now < expiryOf(state)) return waitForShorter(cost, now, state, limit);
  return waitAfter(waitFor(cost, windows, now, limit), cost, now, state, windows.until, parameters);
}

/** Returns how long until the full limit is available: until a request of that cost would be allowed. */
function fullAfter(
  windows: Windows,
  now: number,
  state: Windows,
  parameters: { limit: number; window: number },
): number {
  if (windows.current + windows.previous === 0) return 0;
  return Math.max(0, retryAfter(parameters.limit, windows, now, state, parameters)!);
}

/** Scales the consumed permits of both windows. */
const scale: Scale<Windows> = (state, from, to) => ({
  ...state,
  current: scaleCount(state.current, from, to),
  previous: scaleCount(state.previous, from, to),
});

/**
 * The sliding window counter: two counters per key. The permits of the previous window are weighted by the part of it
 * that the sliding window still covers, as if they had been taken evenly:
 * used = current + floor(previous x left / window), rounded as in Upstash and Python's `limits`.
 *
 * An approximation (`exact: false`) with exact arithmetic: if limit x window exceeds 2^52 (such as 53,000 per day),
 * time is measured in units coarser than a microsecond, so that no product exceeds the exact integers of a double.
 */
export const slidingWindowCounter: AlgorithmDefinition<
  SlidingWindowCounterOptions,
  SlidingWindowCounterState,
  'limit' | 'window' | 'unit'
> = inheriting<SlidingWindowCounterOptions, Windows, 'limit' | 'window' | 'unit'>(scale, {
  name: 'sliding-window-counter',
  bound: 'any window',
  forLargeLimits: true,
  examples: slidingWindowCounterExamples,
  exact: false,
  parameters: ['limit', 'window', 'unit'],
  options: { prefetch: prefetchOption, inherit: inheritOption },
  spendBy: (_nth, { now }, { window }) => now - (now % window) + window - 1,
  compile: ({ limit, window }) => ({
    limit,
    window,
    unit: unitOf(limit, window),
  }),

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit } = parameters;
    if (limit === 0) return NEVER;

    const windows = read(state, now, parameters.window);
    const { start, current, previous, window, until } = windows;
    const unit = window === parameters.window ? parameters.unit : unitOf(limit, window);
    const endsAfter = start + window - now;
    const left = Math.min(window, endsAfter);
    const weighted = weigh(previous, left, window, unit);
    const remaining = Math.max(0, limit - current - weighted);
    const stored = state ?? windows;

    if (cost > remaining && maxWait < Infinity) {
      const wait = retryAfter(cost, windows, now, stored, parameters);
      return deny(remaining, wait, fullAfter(windows, now, stored, parameters));
    }

    const next = { start, current: Math.min(LONGEST, current + cost), previous, window, until };
    const resetAfter = fullAfter(next, now, cost > 0 ? next : stored, parameters);
    return allow(Math.max(0, remaining - cost), 0, resetAfter, next, endsAfter + window);
  },

  /** The receipt is in the window after that of the charge, or its end. The charge is refunded as long as that counts. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const windows = read(state, now, parameters.window);
    const { start, current, previous, window } = windows;
    if (onlyLast) return undefined;
    const left = Math.min(window, start + window - now);
    const expiresAfter = start + 2 * window - now;
    const age = Math.ceil((Number(receipt) - start) / window);
    if (age === 2 && current > 0) {
      return { state: { ...windows, current: Math.max(0, current - cost) }, expiresAfter };
    }
    if (age === 1 && weigh(previous, left, window, unitOf(parameters.limit, window)) > 0) {
      return { state: { ...windows, previous: Math.max(0, previous - cost) }, expiresAfter };
    }
    return undefined;
  },
});
