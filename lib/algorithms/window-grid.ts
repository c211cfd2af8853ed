import { LONGEST } from './rate.js';

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
