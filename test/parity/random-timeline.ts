import fc from 'fast-check';
import type { AlgorithmName } from '../../lib/index.js';
import { gaps, type Gap } from './random-gap.js';
import { rules } from './random-rule.js';
import type { RuleSketch } from './rule-sketch.js';

/** How long a hit may wait: not at all, without limit, or a number of twelfths of the first rule's window. */
export type MaxWait = 'none' | 'endless' | number;

/** Refers to the charge of an earlier request, counted from the newest. */
export type AmendDeed =
  /** At most this many permits of each rule, at least 1. */
  | { does: 'refund' | 'refund-last' | 'renew'; charge: number; permits: number }
  /** The actual cost in permits; 0 cancels the reservation. */
  | { does: 'settle'; charge: number; actual: number };

/** The events. Without a cost, each rule uses its own. */
export type Deed =
  /** One request per cost, all in one turn of the event loop. */
  | { does: 'consume'; costs: (number | undefined)[]; maxWait: MaxWait }
  | { does: 'peek'; cost: number | undefined }
  | AmendDeed
  /** A number of twelfths of the first rule's window. */
  | { does: 'block'; index: number; twelfths: number }
  | { does: 'reset' }
  | { does: 'change'; index: number; to: RuleSketch };

export interface Timeline {
  rules: RuleSketch[];
  /**
   * The caller's clock, which selects calendar windows, is fast by this number of twelfths of the first rule's
   * window.
   */
  skew: number;
  steps: (Gap & Deed)[];
}

export const STEPS_AT_LEAST = 60;

const cost = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.nat(6) },
  { weight: 1, arbitrary: fc.constantFrom(0, 13, 50, 1000, 1_000_000, 1_000_000_000) },
);

const maxWait = fc.oneof(
  { weight: 6, arbitrary: fc.constant<MaxWait>('none') },
  { weight: 1, arbitrary: fc.constant<MaxWait>('endless') },
  { weight: 2, arbitrary: fc.nat(30) },
);

const costs = fc.oneof(
  { weight: 9, arbitrary: fc.tuple(cost) },
  { weight: 1, arbitrary: fc.array(cost, { minLength: 2, maxLength: 4 }) },
);

const charge = fc.oneof(fc.constant(0), fc.nat(3));

const amendment: fc.Arbitrary<AmendDeed> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom('refund', 'refund', 'refund-last', 'renew'),
      charge,
      permits: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('settle' as const),
      charge,
      actual: fc.oneof(fc.constant(0), fc.nat(2), fc.nat(8)),
    }),
  },
);

function deed(names: fc.Arbitrary<AlgorithmName>, ruleCount: number): fc.Arbitrary<Deed> {
  const index = fc.nat(ruleCount - 1);
  return fc.oneof(
    { weight: 20, arbitrary: fc.record({ does: fc.constant('consume' as const), costs, maxWait }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('peek' as const), cost }) },
    { weight: 7, arbitrary: amendment },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('block' as const), index, twelfths: fc.nat(18) }) },
    { weight: 1, arbitrary: fc.constant<Deed>({ does: 'reset' }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('change' as const), index, to: rules(names) }) },
  );
}

/** Random rules of these algorithms that are decided together, and the events on them. */
export function timelines(
  algorithms: readonly AlgorithmName[],
  count: { minLength: number; maxLength: number },
): fc.Arbitrary<Timeline> {
  const names = fc.constantFrom(...algorithms);
  return fc.array(rules(names), count).chain((sketches) =>
    fc.record({
      rules: fc.constant(sketches),
      skew: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -40, max: 40 })),
      steps: fc.array(
        fc.tuple(gaps, deed(names, sketches.length)).map(([when, what]) => ({ ...when, ...what })),
        { minLength: STEPS_AT_LEAST, maxLength: 2 * STEPS_AT_LEAST, size: 'max' },
      ),
    }),
  );
}
