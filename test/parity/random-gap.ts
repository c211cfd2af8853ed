import fc from 'fast-check';

/** When something happens, told so that a shrunk timeline still meets the edges at which limiters fail. */
export type Gap =
  | { after: 'microseconds'; microseconds: number }
  /** So much of the first rule's window: 12 is all of it. Negative: the clock steps back. */
  | { after: 'twelfths'; twelfths: number; nudge: number }
  /** When the last answer said to retry, or that all is reset, and some microseconds off. */
  | { after: 'retry' | 'reset'; nudge: number }
  /** A day after that, when a full bucket is forgotten. */
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
  { weight: 3, arbitrary: fc.record({ after: fc.constantFrom('retry', 'reset', 'reset', 'memory'), nudge }) },
);
