import type { AlgorithmName } from '../../lib/index.js';
import type { CalendarWindow } from '../../lib/algorithms/definition.js';

/** A random rule, which may be invalid. Durations are whole milliseconds, in microseconds. */
export interface RuleSketch {
  algorithm: AlgorithmName;
  limit: number;
  window: number;
  cost: number;
  burst: number | undefined;
  /** Whether a request that waits may cost more than the burst. */
  overdraft: boolean | undefined;
  align: 'first-hit' | 'clock' | undefined;
  /** The calendar window that replaces `window`, if the algorithm supports calendars. */
  calendar: CalendarSketch | undefined;
  cells: number | undefined;
  refill: 'continuous' | 'interval' | undefined;
  initial: number | undefined;
  /** Replaces the bucket's other options. */
  warmUp: number | undefined;
  delayAfter: number | undefined;
  maxDelay: number | undefined;
  /** Whether the lease is as long as the window; otherwise it is the default. */
  lease: boolean;
  /** How long a denial blocks; 0: only `block()` blocks. */
  block: number | undefined;
  shadow: boolean;
}

export interface CalendarSketch {
  unit: CalendarWindow;
  timeZone: string | undefined;
  anchor: number | undefined;
  /** An instant near which the time zone has an irregular day, in microseconds since the epoch. */
  near: number;
}
