import fc from 'fast-check';
import { NOMINAL_LENGTHS } from '../../lib/algorithms/definition.js';
import { drawnRules, type DrawnRule } from './drawn-rule.js';

/** One rule and its hits with a clock that never steps back. */
export interface ForwardTimeline {
  rule: DrawnRule;
  hits: { at: number; cost: number }[];
}

const START = 1_700_000_040_000_000;
const DAY = 86_400e6;

/** In twelfths of the window, plus some microseconds or a day. */
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ twelfths: 0, more: 0 }) },
  { weight: 3, arbitrary: fc.record({ twelfths: fc.constant(0), more: fc.nat(3000) }) },
  { weight: 6, arbitrary: fc.record({ twelfths: fc.nat(4), more: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ twelfths: fc.nat(36), more: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ twelfths: fc.nat(12), more: fc.constantFrom(0, DAY - 1, DAY) }) },
);

/** In twelfths of the limit, so that large limits are reached as well, plus some permits. */
const cost = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ twelfths: 0, more: 1 }) },
  { weight: 3, arbitrary: fc.record({ twelfths: fc.constant(0), more: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ twelfths: fc.nat(12), more: fc.nat(2) }) },
);

function timelines(
  drawn: fc.Arbitrary<DrawnRule>,
  startOf: (rule: DrawnRule) => number = () => START,
): fc.Arbitrary<ForwardTimeline> {
  const moves = fc.array(fc.tuple(gap, cost), { minLength: 20, maxLength: 80, size: 'max' });
  return fc.tuple(drawn, moves).map(([rule, moves]) => {
    let at = startOf(rule);
    const hits = moves.map(([later, dear]) => {
      at += Math.floor((rule.window * later.twelfths) / 12) + later.more;
      return { at, cost: Math.floor((rule.limit * dear.twelfths) / 12) + dear.more };
    });
    return { rule, hits };
  });
}

export const forwardTimelines = timelines(drawnRules);

/** At most one permit per microsecond, which is the precision of instants. */
export const unhurriedTimelines = timelines(
  drawnRules.map((rule) => ({ ...rule, limit: Math.min(rule.limit, rule.window) })),
);

/** The same with windows of some microseconds, where rounding is visible. */
export const closeTimelines = timelines(
  drawnRules.map(({ limit, window, ...rule }) => {
    const short = 2 + (window % 30);
    return { ...rule, window: short, limit: Math.min(limit, short) };
  }),
);

/** Calendar windows near irregular days, but not near a date that occurs twice, which the model does not support. */
export const calendarTimelines = timelines(
  drawnRules
    .filter(({ calendar }) => calendar.timeZone !== 'America/St_Johns')
    .map((rule) => ({ ...rule, window: NOMINAL_LENGTHS[rule.calendar.unit] })),
  ({ calendar }) => calendar.near,
);

/** Fixed, so that a failure can be repeated; PARITY_SEED selects another one. */
export const FORWARD = { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 500 };
