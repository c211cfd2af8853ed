import { describe, expect, it } from '@jest/globals';
import { decisionOf } from './decision.js';
import { settlementOf, type Use } from './settlement.js';

const hit = {
  rule: { name: 'month', algorithm: {}, capacity: 1000, capacityWindowMs: 1000 },
  cost: 100,
} as never;
const result = { allowed: true, remaining: 900, retryAfter: 0, resetAfter: 1, delay: 0, source: 'memory', now: 0 } as const; // prettier-ignore

/** Returns the kind and the cost of the settlement of 100 reserved permits. */
function settled(actual: number, use: Use) {
  const adjustments = settlementOf(decisionOf([hit], [result], false), [hit], actual, [use]);
  return adjustments.map(({ kind, cost }) => [kind, cost]);
}

describe('a settlement of 100 reserved permits, after 300 were used and 200 charged', () => {
  const confirmed = { used: 300, charged: 200, confirmed: 200 };
  const lost = { used: 300, charged: 200, confirmed: 0 };

  it.each([
    [400, [['charge', 100]]],
    [300, []],
    [250, [['refund', 50]]],
    [0, [['refund', 100]]],
  ])('with %i changes the charge by the difference', (actual, adjustments) => {
    expect(settled(actual, confirmed)).toEqual(adjustments);
  });

  it.each([
    [400, [['charge', 100]]],
    [300, []],
    [120, []],
    [70, [['refund', 30]]],
  ])('with %i refunds nothing of a charge that may be lost', (actual, adjustments) => {
    expect(settled(actual, lost)).toEqual(adjustments);
  });
});
