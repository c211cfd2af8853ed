import { allow, deny, NEVER } from './definition.js';
import type { Algorithm, MaxWait, Step } from '../contracts/algorithm.js';
import { isDebt, LONGEST } from './rate.js';
import { setBack } from '../contracts/clock.js';

/** Where the windows of a rule lie, by its parameters. Times are in microseconds. */
export interface Grid<Parameters> {
  /** Returns the length of a window. */
  length(parameters: Parameters): number;
  /** Whether windows start at the same instants for every subject; otherwise, the first starts with a charge. */
  isShared(parameters: Parameters): boolean;
  /** Returns the start of the window that contains an instant. */
  startOf(instant: number, parameters: Parameters): number;
  /** Returns the start of the window that is some windows after the one with a start. */
  after(start: number, windows: number, parameters: Parameters): number;
  /** Returns how many windows have ended between the start of one and a later instant. */
  ended(start: number, instant: number, parameters: Parameters): number;
}

/** Windows of one length, aligned to the clock (`aligned` 1) or to a charge. */
export const EVEN: Grid<{ readonly window: number; readonly aligned?: number }> = {
  length: ({ window }) => window,
  isShared: ({ aligned }) => aligned === 1,
  startOf: (instant, { window, aligned }) => (aligned === 1 ? instant - (instant % window) : instant),
  after: (start, windows, { window }) => start + Math.min(LONGEST, windows * window),
  ended: (start, instant, { window }) => Math.floor((instant - start) / window),
};

/** The windows that charges reach: all before the last are full. */
export interface WindowState {
  /** Start of the first of them, which contains `written`. If there are none: the end of the last, since the epoch. */
  readonly start: number;
  /** How many they are; 0 if no permit is used. */
  readonly windows: number;
  /** Permits used in the last of them. A rule with a lower limit reads its own limit. */
  readonly count: number;
  /** When the state was written, in microseconds since the epoch. */
  readonly written: number;
}

interface Limited {
  readonly limit: number;
}

/** How many permits may be used at once: the limit, or the capacity of a bucket that gains the limit per window. */
interface Room {
  readonly burst: number;
  /** Whether a waiting request may cost more than that. */
  readonly overdraft?: number;
}

/** Returns the windows that charges still reach. */
export function read<Parameters>(
  state: WindowState | undefined,
  now: number,
  parameters: Parameters,
  grid: Grid<Parameters>,
): WindowState {
  if (!state) return { start: now, windows: 0, count: 0, written: now };
  const { windows, count } = state;
  let { start, written } = state;
  const by = setBack(written, now);
  if (by > 0) start = grid.isShared(parameters) ? grid.startOf(now, parameters) : start - by;
  written = by > 0 ? now : Math.max(now, written);
  const ended = Math.min(windows, grid.ended(start, written, parameters));
  if (ended > 0) start = grid.after(start, ended, parameters);
  if (ended === windows) return { start: Math.min(start, now), windows: 0, count: 0, written: now };
  return { start, windows: windows - ended, count, written: Math.max(start, written) };
}

/** Returns the time until no permit is used any more. */
export function resetOf<Parameters>(
  { start, windows }: WindowState,
  now: number,
  parameters: Parameters,
  grid: Grid<Parameters>,
): number {
  return windows === 0 ? 0 : grid.after(start, windows, parameters) - now;
}

/** Returns the windows that charges reach after one more, which takes what the last one has left and the following ones. */
export function charge<Parameters>(
  current: WindowState,
  now: number,
  cost: number,
  parameters: Parameters & Limited,
  grid: Grid<Parameters>,
): WindowState {
  const { windows, written } = current;
  if (cost === 0) return current;
  const { limit } = parameters;
  const used = usedInLast(current, limit) + cost;
  const more = Math.ceil(used / limit) - 1;
  const start = windows === 0 ? grid.startOf(now, parameters) : current.start;
  const most = LONGEST / grid.length(parameters);
  if (windows + more > most) return { start, windows: Math.floor(most), count: limit, written };
  return { start, windows: windows + more, count: used - more * limit, written };
}

/** Without a window that charges reach, the one before the current window counts as full. */
function usedInLast({ windows, count }: WindowState, limit: number): number {
  return windows === 0 ? limit : Math.min(count, limit);
}

/** Decides a request: it is allowed as soon as at most `burst` permits are used with it. */
export function take<Parameters>(
  current: WindowState,
  now: number,
  cost: number,
  maxWait: MaxWait,
  { burst, overdraft }: Room,
  parameters: Parameters & Limited,
  grid: Grid<Parameters>,
): Step<WindowState> {
  const { limit } = parameters;
  const { windows } = current;
  const inLast = usedInLast(current, limit);
  const used = (windows - 1) * limit + inLast;
  const remaining = Math.max(0, burst - used);

  let wait = 0;
  if (cost > remaining) {
    const debt = { whole: Math.ceil(cost / limit) * grid.length(parameters), part: 0 };
    const overdraws = cost > burst && overdraft === 1 && maxWait > 0 && isDebt(debt);
    const most = overdraws ? 0 : burst - cost;
    if (used > most) {
      const start = windows === 0 ? grid.startOf(now, parameters) : current.start;
      const left = Math.floor((most - inLast) / limit) + 1;
      wait = grid.after(start, windows - left, parameters) - now;
    }
    const isNever = cost > burst && !overdraws;
    if (maxWait < Infinity && (isNever || wait > maxWait)) {
      return deny(remaining, isNever ? null : wait - maxWait, resetOf(current, now, parameters, grid));
    }
  }

  const next = charge(current, now, cost, parameters, grid);
  const resetAfter = resetOf(next, now, parameters, grid);
  return allow(Math.max(0, remaining - cost), wait, resetAfter, next, resetAfter);
}

/** Returns the windows that charges reach after a refund; `undefined` if the charge has expired. */
export function refundWindows<Parameters>(
  current: WindowState,
  now: number,
  cost: number,
  receipt: number,
  parameters: Parameters & Limited,
  grid: Grid<Parameters>,
): WindowState | undefined {
  const { start, windows, count, written } = current;
  if (windows === 0 || receipt <= now || receipt < grid.after(start, 1, parameters)) return undefined;
  const left = count - cost;
  const less = left > 0 ? 0 : Math.floor(-left / parameters.limit) + 1;
  if (less >= windows) return { start: written, windows: 0, count: 0, written };
  return { start, windows: windows - less, count: left + less * parameters.limit, written };
}

/**
 * Returns the functions of an algorithm that allows at most the limit in each window of a grid.
 *
 * @param expiryOf returns the time after which a state decides like an absent one; by default that until no permit is used
 */
export function countedIn<Parameters>(
  grid: Grid<Parameters>,
  expiryOf?: typeof resetOf<Parameters>,
): Pick<Algorithm<WindowState, Parameters & Limited>, 'step' | 'refund' | 'isAhead'> {
  return {
    step(state, now, cost, parameters, maxWait = 0) {
      const { limit } = parameters;
      if (limit === 0) return NEVER;
      const current = read(state, now, parameters, grid);
      const atOnce = maxWait < Infinity ? 0 : maxWait;
      const step = take(current, now, cost, atOnce, { burst: limit }, parameters, grid);
      return step.allowed && expiryOf
        ? { ...step, expiresAfter: expiryOf(step.state, now, parameters, grid) }
        : step;
    },
    refund(state, now, cost, parameters, receipt, onlyLast) {
      if (parameters.limit === 0 || onlyLast) return undefined;
      const current = read(state, now, parameters, grid);
      const next = refundWindows(current, now, cost, Number(receipt), parameters, grid);
      return next && { state: next, expiresAfter: (expiryOf ?? resetOf)(next, now, parameters, grid) };
    },
    isAhead,
  };
}

/** Whether the clock was set back since a state was written. */
export function isAhead({ written }: WindowState, now: number): boolean {
  return setBack(written, now) > 0;
}
