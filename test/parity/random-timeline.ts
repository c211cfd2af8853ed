import fc from 'fast-check';
import type { AlgorithmName } from '../../lib/index.js';
import type { RuleSketch } from './rule-sketch.js';

/** When something happens, told so that a shrunk timeline still meets the edges at which limiters fail. */
export type Gap =
  | { after: 'microseconds'; microseconds: number }
  /** So much of the first rule's window: 12 is all of it. Negative: the clock steps back. */
  | { after: 'twelfths'; twelfths: number; nudge: number }
  /** When the last answer said to retry, or that all is reset, and some microseconds off. */
  | { after: 'retry' | 'reset'; nudge: number };

/** How long a hit may wait: not at all, for ever, or so many twelfths of the first rule's window. */
export type Patience = 'none' | 'endless' | number;

/** What happens. Without a cost, each rule takes its own. */
export type Deed =
  | { does: 'consume'; cost: number | undefined; patience: Patience }
  | { does: 'peek'; cost: number | undefined }
  /** To one of the charges so far, counted from the newest: so many of its permits, at least 1. */
  | { does: 'refund' | 'refund-last' | 'renew'; charge: number; permits: number }
  /** So many twelfths of the first rule's window. */
  | { does: 'block'; index: number; twelfths: number }
  | { does: 'reset' }
  | { does: 'change'; index: number; limit: number; window: number | undefined };

export interface Timeline {
  rules: RuleSketch[];
  steps: (Gap & Deed)[];
}

export const STEPS_AT_LEAST = 60;

const nudge = fc.integer({ min: -1, max: 1 });

const gap: fc.Arbitrary<Gap> = fc.oneof(
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
  { weight: 3, arbitrary: fc.record({ after: fc.constantFrom('retry', 'reset'), nudge }) },
);

const limit = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 100, 1000, 99_991, 1_000_000, 1_000_000_000) },
);

/** In microseconds: sub-millisecond, odd and long ones, too. */
const window = fc.oneof(
  fc.constantFrom(1, 3, 7, 500, 1000, 1500, 333_333, 1e6, 7e6, 9_973_000, 60e6, 3600e6, 604_800e6),
  fc.integer({ min: 1, max: 20_000_000 }),
);

const cost = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.nat(6) },
  { weight: 1, arbitrary: fc.constantFrom(0, 13, 50, 1000, 1_000_000, 1_000_000_000) },
);

const patience = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Patience>('none') },
  { weight: 1, arbitrary: fc.constant<Patience>('endless') },
  { weight: 2, arbitrary: fc.nat(30) },
);

function deed(ruleCount: number): fc.Arbitrary<Deed> {
  const index = fc.nat(ruleCount - 1);
  return fc.oneof(
    { weight: 20, arbitrary: fc.record({ does: fc.constant('consume' as const), cost, patience }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('peek' as const), cost }) },
    {
      weight: 6,
      arbitrary: fc.record({
        does: fc.constantFrom('refund', 'refund', 'refund-last', 'renew'),
        charge: fc.nat(3),
        permits: fc.integer({ min: 1, max: 6 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('block' as const), index, twelfths: fc.nat(18) }) },
    { weight: 1, arbitrary: fc.constant<Deed>({ does: 'reset' }) },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constant('change' as const),
        index,
        limit,
        window: fc.option(window, { nil: undefined, freq: 1 }),
      }),
    },
  );
}

function rule(algorithm: fc.Arbitrary<AlgorithmName>): fc.Arbitrary<RuleSketch> {
  const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 1 });
  return fc.record({
    algorithm,
    limit,
    window,
    cost: fc.oneof(fc.constant(1), fc.nat(5)),
    burst: sometimes(
      fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 30 }), fc.constant(1_000_000)),
    ),
    align: fc.constantFrom('first-hit', 'clock'),
    cells: sometimes(fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(1000))),
    undelayed: sometimes(fc.nat(12)),
    maxDelay: sometimes(fc.constantFrom(1, 50, 1e6, 5e6, 60e6)),
    block: fc.option(fc.constantFrom(0, 1, 1000, 1e6, 7e6), { nil: undefined, freq: 3 }),
    observe: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  });
}

/** Random rules of these algorithms, asked together, and what is done to them. */
export function timelines(
  algorithms: readonly AlgorithmName[],
  rules: { minLength: number; maxLength: number },
): fc.Arbitrary<Timeline> {
  return fc.array(rule(fc.constantFrom(...algorithms)), rules).chain((sketches) =>
    fc.record({
      rules: fc.constant(sketches),
      steps: fc.array(
        fc.tuple(gap, deed(sketches.length)).map(([when, what]) => ({ ...when, ...what })),
        { minLength: STEPS_AT_LEAST, maxLength: 2 * STEPS_AT_LEAST, size: 'max' },
      ),
    }),
  );
}
