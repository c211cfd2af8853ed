import fc from 'fast-check';
import { calendars } from './random-calendar.js';
import type { CalendarSketch } from './rule-sketch.js';

/** The fields of a random rule. Each algorithm uses some of them. Times are in microseconds. */
export interface DrawnRule {
  limit: number;
  window: number;
  burst: number;
  cells: number;
  initial: number;
  delayAfter: number;
  maxDelay: number;
  warmUp: number;
  calendar: CalendarSketch;
}

export const drawnRules: fc.Arbitrary<DrawnRule> = fc.record({
  limit: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(100, 1000, 99_991, 1_000_000) },
  ),
  window: fc.oneof(
    fc.constantFrom(1, 3, 7, 500, 1500, 333_333, 1e6, 7e6, 9_973_000, 60e6, 3600e6, 604_800e6),
    fc.integer({ min: 1, max: 20_000_000 }),
  ),
  burst: fc.integer({ min: 1, max: 12 }),
  cells: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(1000)),
  initial: fc.integer({ min: 1, max: 8 }),
  delayAfter: fc.nat(8),
  maxDelay: fc.constantFrom(1000, 3000, 333_000, 1e6, 5e6, 60e6),
  warmUp: fc.constantFrom(1000, 7000, 50_000, 1e6, 7e6, 60e6),
  calendar: calendars,
});
