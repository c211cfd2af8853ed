import fc from 'fast-check';
import type { Quota } from '../../lib/algorithms/definition.js';

/** One rule and its hits by a clock that only goes forward. Times are microseconds. */
export interface ForwardTimeline {
  rule: Pick<Quota, 'limit' | 'window'> & { burst: number };
  hits: { at: number; cost: number }[];
}

const START = 1_700_000_040_000_000;

const rule = fc.record({
  limit: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom(100, 1000, 99_991, 1_000_000) },
  ),
  window: fc.oneof(
    fc.constantFrom(1, 3, 7, 500, 1500, 333_333, 1e6, 7e6, 9_973_000, 60e6, 3600e6, 604_800e6),
    fc.integer({ min: 1, max: 20_000_000 }),
  ),
  burst: fc.integer({ min: 1, max: 12 }),
});

const gap = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ twelfths: 0, more: 0 }) },
  { weight: 3, arbitrary: fc.record({ twelfths: fc.constant(0), more: fc.nat(3000) }) },
  { weight: 6, arbitrary: fc.record({ twelfths: fc.nat(4), more: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ twelfths: fc.nat(36), more: fc.nat(2) }) },
);

/** In twelfths of the limit, so that large limits are reached, too, and some permits more. */
const cost = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ twelfths: 0, more: 1 }) },
  { weight: 3, arbitrary: fc.record({ twelfths: fc.constant(0), more: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ twelfths: fc.nat(12), more: fc.nat(2) }) },
);

export const forwardTimelines: fc.Arbitrary<ForwardTimeline> = fc
  .tuple(rule, fc.array(fc.tuple(gap, cost), { minLength: 20, maxLength: 80, size: 'max' }))
  .map(([drawn, moves]) => {
    let at = START;
    const hits = moves.map(([later, dear]) => {
      at += Math.floor((drawn.window * later.twelfths) / 12) + later.more;
      return { at, cost: Math.floor((drawn.limit * dear.twelfths) / 12) + dear.more };
    });
    return { rule: drawn, hits };
  });

/** Fixed, so that a failure comes back; PARITY_SEED draws others. */
export const FORWARD = { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 500 };
