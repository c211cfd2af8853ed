import type { AlgorithmName, CalendarWindow } from '../../lib/index.js';

/** A rule as chance draws it: not every one may be said. Durations are whole milliseconds, in microseconds. */
export interface RuleSketch {
  algorithm: AlgorithmName;
  limit: number;
  window: number;
  cost: number;
  burst: number | undefined;
  align: 'first-hit' | 'clock' | undefined;
  /** The calendar's window in the place of `window`, where the algorithm knows calendars. */
  calendar: CalendarSketch | undefined;
  cells: number | undefined;
  refill: 'continuous' | 'interval' | undefined;
  initial: number | undefined;
  /** In the place of the bucket's other options. */
  warmUp: number | undefined;
  delayAfter: number | undefined;
  maxDelay: number | undefined;
  /** Whether the lease is as long as the window; else it is the default. */
  lease: boolean;
  /** How long a denial blocks; 0: only who is told to. */
  block: number | undefined;
  shadow: boolean;
}

export interface CalendarSketch {
  unit: CalendarWindow;
  timeZone: string | undefined;
  anchor: number | undefined;
  /** An instant near which the time zone has an odd day, in microseconds since the epoch. */
  near: number;
}
