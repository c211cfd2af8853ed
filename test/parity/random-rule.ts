import fc from 'fast-check';
import type { AlgorithmName } from '../../lib/index.js';
import { calendars } from './random-calendar.js';
import type { RuleSketch } from './rule-sketch.js';

const limit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 100, 1000, 99_991, 1_000_000, 1_000_000_000) },
);

/** Whole milliseconds, in microseconds: short, irregular and long ones. */
const window = fc
  .oneof(
    fc.constantFrom(1, 2, 3, 7, 333, 1000, 1500, 7000, 9973, 60e3, 3600e3, 604_800e3),
    fc.integer({ min: 1, max: 20_000 }),
  )
  .map((milliseconds) => milliseconds * 1000);

const burst = fc.oneof(
  fc.integer({ min: 1, max: 8 }),
  fc.integer({ min: 1, max: 30 }),
  fc.constant(1_000_000),
);

/** A value in one of several cases, otherwise none. */
function once<Value>(inSoMany: number, value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.oneof(
    { weight: inSoMany - 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: value },
  );
}

/** The options of all algorithms. The algorithm of the rule decides which of them apply. */
export function rules(algorithm: fc.Arbitrary<AlgorithmName>): fc.Arbitrary<RuleSketch> {
  return fc.record({
    algorithm,
    limit,
    window,
    cost: fc.oneof(fc.constant(1), fc.nat(5)),
    burst: once(2, burst),
    overdraft: once(2, fc.boolean()),
    align: once(2, fc.constantFrom('first-hit', 'clock')),
    calendar: once(2, calendars),
    cells: once(2, fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(1000))),
    refill: once(2, fc.constantFrom('continuous', 'interval', 'interval')),
    initial: once(2, fc.nat(8)),
    warmUp: once(3, fc.constantFrom(1000, 7000, 50_000, 1e6, 7e6, 60e6, 3600e6)),
    delayAfter: once(2, fc.nat(12)),
    maxDelay: once(2, fc.constantFrom(1000, 3000, 1e6, 5e6, 60e6)),
    lease: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
    block: once(3, fc.constantFrom(0, 1000, 3000, 1e6, 7e6)),
    shadow: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  });
}
