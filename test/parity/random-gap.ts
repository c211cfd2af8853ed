import fc from 'fast-check';

/** When an event happens, in a form that keeps the critical edges when a timeline is shrunk. */
export type Gap =
  | { after: 'microseconds'; microseconds: number }
  /** A part of the first rule's window: 12 is all of it. Negative: the clock steps back. */
  | { after: 'twelfths'; twelfths: number; nudge: number }
  /** At the retry or reset instant of the last result, plus or minus some microseconds. */
  | { after: 'retry' | 'reset'; nudge: number }
  /** The clock is set forward or back by some seconds. */
  | { after: 'step'; seconds: number }
  /** One day after that, when a full bucket counts as new. */
  | { after: 'memory'; nudge: number };

const nudge = fc.integer({ min: -1, max: 1 });

export const gaps: fc.Arbitrary<Gap> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Gap>({ after: 'microseconds', microseconds: 0 }) },
  {
    weight: 3,
    arbitrary: fc.record({ after: fc.constant('microseconds' as const), microseconds: fc.nat(3000) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ after: fc.constant('twelfths' as const), twelfths: fc.nat(4), nudge }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      after: fc.constant('twelfths' as const),
      twelfths: fc.integer({ min: -30, max: 36 }),
      nudge,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      after: fc.constant('step' as const),
      seconds: fc.constantFrom(-1, -2, -60, -36_000, -31_536_000, 60, 36_000, 31_536_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ after: fc.constantFrom('retry', 'reset', 'reset', 'memory'), nudge }) },
);
