import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../../algorithms/registry.js';
import type { Adjustment } from '../../../contracts/store.js';
import { boundedParts, forEachPart } from './bounded-calls.js';

function amendments(
  count: number,
  cost = 1,
  algorithm: Adjustment['algorithm'] = algorithms.gcra,
): Adjustment[] {
  return Array.from({ length: count }, (_, nth) => ({
    key: `key-${nth}`,
    algorithm,
    parameters: {},
    source: 'redis',
    kind: 'refund',
    cost,
    receipt: 1,
    chargedAt: 1,
  }));
}

describe('a long list of refunds or renewals', () => {
  it('is sent in calls of at most 100 keys', () => {
    const leases = amendments(250, 1, algorithms.concurrency);
    expect(boundedParts(leases).map(({ length }) => length)).toEqual([100, 100, 50]);
    // A refund also reads the instant of the counter's last reset.
    expect(boundedParts(amendments(120)).map(({ length }) => length)).toEqual([50, 50, 20]);
    expect(boundedParts([])).toEqual([]);
  });

  it('is sent in calls that change at most 1,000 held permits', () => {
    const parts = boundedParts(amendments(50, 300, algorithms.concurrency));
    expect(parts.map(({ length }) => length)).toEqual([...Array.from({ length: 16 }, () => 3), 2]);
  });

  it('has two calls in flight at the same time, and is completed whatever fails', async () => {
    let underWay = 0;
    let most = 0;
    const done: number[] = [];
    const run = async (nth: number): Promise<number> => {
      most = Math.max(most, ++underWay);
      await Promise.resolve();
      underWay -= 1;
      done.push(nth);
      if (nth === 3) throw new Error('no answer');
      return nth;
    };
    const list = Array.from({ length: 50 }, (_, nth) => nth);
    await expect(forEachPart(list, run)).rejects.toThrow('no answer');
    expect([most, done.length]).toEqual([2, 50]);
    expect(await forEachPart([5, 6], run)).toEqual([5, 6]);
  });
});
