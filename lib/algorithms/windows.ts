import { allow, deny, NEVER } from './definition.js';
import type { Algorithm, MaxWait, Next, Step } from '../contracts/algorithm.js';
import { isDebt, LONGEST } from './rate.js';
import { setBack } from '../contracts/clock.js';

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

/** Where the windows of a rule lie, by its parameters, and how they are charged. Times are in microseconds. */
export abstract class Grid<Parameters extends { readonly limit: number }> {
  /** Returns the length of a window. */
  abstract readonly length: (parameters: Parameters) => number;
  /** Whether windows start at the same instants for every subject; otherwise, the first starts with a charge. */
  abstract readonly isShared: (parameters: Parameters) => boolean;
  /** Returns the start of the window that contains an instant. */
  abstract readonly startOf: (instant: number, parameters: Parameters) => number;
  /** Returns the start of the window that is some windows after the one with a start. */
  abstract readonly after: (start: number, windows: number, parameters: Parameters) => number;
  /** Returns how many windows have ended between the start of one and a later instant. */
  abstract readonly ended: (start: number, instant: number, parameters: Parameters) => number;

  /** Returns the time after which a state decides like an absent one: by default that until no permit is used. */
  expiryOf(_state: WindowState, _now: number, resetAfter: number, _parameters: Parameters): number {
    return resetAfter;
  }

  /** Returns the windows that charges still reach. */
  read(state: WindowState | undefined, now: number, parameters: Parameters): WindowState {
    if (!state) return { start: now, windows: 0, count: 0, written: now };
    const { windows, count } = state;
    let { start, written } = state;
    const by = setBack(written, now);
    if (by > 0) start = this.isShared(parameters) ? this.startOf(now, parameters) : start - by;
    written = by > 0 ? now : Math.max(now, written);
    const ended = Math.min(windows, this.ended(start, written, parameters));
    if (ended > 0) start = this.after(start, ended, parameters);
    if (ended === windows) return { start: Math.min(start, now), windows: 0, count: 0, written: now };
    return { start, windows: windows - ended, count, written: Math.max(start, written) };
  }

  /** Returns the windows that charges reach after one more, which takes what the last one has left and the following ones. */
  charge(current: WindowState, now: number, cost: number, parameters: Parameters): WindowState {
    const { windows, written } = current;
    if (cost === 0) return current;
    const { limit } = parameters;
    const used = usedInLast(current, limit) + cost;
    const more = Math.ceil(used / limit) - 1;
    const start = windows === 0 ? this.startOf(now, parameters) : current.start;
    const most = LONGEST / this.length(parameters);
    if (windows + more > most) return { start, windows: Math.floor(most), count: limit, written };
    return { start, windows: windows + more, count: used - more * limit, written };
  }

  /**
   * Decides a request: it is allowed as soon as at most `burst` permits are used with it.
   *
   * @param burst the limit, or the capacity of a bucket that gains the limit per window
   * @param overdraft whether a waiting request may cost more than that: 0 or 1
   */
  take(
    current: WindowState,
    now: number,
    cost: number,
    maxWait: MaxWait,
    parameters: Parameters,
    burst = parameters.limit,
    overdraft = 0,
  ): Step<WindowState> {
    const { limit } = parameters;
    const { windows } = current;
    const inLast = usedInLast(current, limit);
    const used = (windows - 1) * limit + inLast;
    const remaining = Math.max(0, burst - used);

    let wait = 0;
    if (cost > remaining) {
      const debt = { whole: Math.ceil(cost / limit) * this.length(parameters), part: 0 };
      const overdraws = cost > burst && overdraft === 1 && maxWait > 0 && isDebt(debt);
      const most = overdraws ? 0 : burst - cost;
      if (used > most) {
        const start = windows === 0 ? this.startOf(now, parameters) : current.start;
        const left = Math.floor((most - inLast) / limit) + 1;
        wait = this.after(start, windows - left, parameters) - now;
      }
      const isNever = cost > burst && !overdraws;
      if (maxWait < Infinity && (isNever || wait > maxWait)) {
        return deny(remaining, isNever ? null : wait - maxWait, this.resetOf(current, now, parameters));
      }
    }

    const next = this.charge(current, now, cost, parameters);
    const resetAfter = this.resetOf(next, now, parameters);
    const expiresAfter = this.expiryOf(next, now, resetAfter, parameters);
    return allow(Math.max(0, remaining - cost), wait, resetAfter, next, expiresAfter);
  }

  /** Returns the windows that charges reach after a refund; `undefined` if the charge has expired. */
  refund(
    current: WindowState,
    now: number,
    cost: number,
    receipt: number,
    parameters: Parameters,
  ): Next<WindowState> | undefined {
    const { start, windows, count, written } = current;
    if (windows === 0 || receipt <= now || receipt < this.after(start, 1, parameters)) return undefined;
    const left = count - cost;
    const less = left > 0 ? 0 : Math.floor(-left / parameters.limit) + 1;
    const state =
      less >= windows
        ? { start: written, windows: 0, count: 0, written }
        : { start, windows: windows - less, count: left + less * parameters.limit, written };
    const resetAfter = this.resetOf(state, now, parameters);
    return { state, expiresAfter: this.expiryOf(state, now, resetAfter, parameters) };
  }

  /** Returns the functions of an algorithm that allows at most the limit in each window. */
  counted(): Pick<Algorithm<WindowState, Parameters>, 'step' | 'refund' | 'isAhead'> {
    return {
      step: (state, now, cost, parameters, maxWait = 0) => {
        if (parameters.limit === 0) return NEVER;
        const current = this.read(state, now, parameters);
        return this.take(current, now, cost, maxWait < Infinity ? 0 : maxWait, parameters);
      },
      refund: (state, now, cost, parameters, receipt, onlyLast) => {
        if (parameters.limit === 0 || onlyLast) return undefined;
        return this.refund(this.read(state, now, parameters), now, cost, Number(receipt), parameters);
      },
      isAhead,
    };
  }

  /** Returns the time until no permit is used any more. */
  private resetOf({ start, windows }: WindowState, now: number, parameters: Parameters): number {
    return windows === 0 ? 0 : this.after(start, windows, parameters) - now;
  }
}

/** Without a window that charges reach, the one before the current window counts as full. */
function usedInLast({ windows, count }: WindowState, limit: number): number {
  return windows === 0 ? limit : Math.min(count, limit);
}

/** The parameters of windows of one length, aligned to the clock (`aligned` 1) or to a charge. */
interface EvenWindows {
  readonly limit: number;
  readonly window: number;
  readonly aligned?: number;
}

/** Windows of one length. */
export class EvenGrid<Parameters extends EvenWindows> extends Grid<Parameters> {
  readonly length = ({ window }: Parameters) => window;
  readonly isShared = ({ aligned }: Parameters) => aligned === 1;
  readonly startOf = (instant: number, { window, aligned }: Parameters) =>
    aligned === 1 ? instant - (instant % window) : instant;
  readonly after = (start: number, windows: number, { window }: Parameters) =>
    start + Math.min(LONGEST, windows * window);
  readonly ended = (start: number, instant: number, { window }: Parameters) =>
    Math.floor((instant - start) / window);
}

/** Whether the clock was set back since a state was written. */
export function isAhead({ written }: WindowState, now: number): boolean {
  return setBack(written, now) > 0;
}
