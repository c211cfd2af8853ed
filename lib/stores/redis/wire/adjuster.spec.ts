import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../../algorithms/registry.js';
import type { Adjustment } from '../../../contracts/store.js';
import type { ChangeFeed } from '../link/change-feed.js';
import type { CurrentClient } from '../link/current-client.js';
import { Adjuster } from './adjuster.js';
import type { Call } from './call.js';

describe('adjustments that one call has no time for', () => {
  const refund = (key: string): Adjustment => ({
    kind: 'refund',
    key,
    algorithm: algorithms.gcra,
    parameters: {},
    block: undefined,
    cost: 1,
    receipt: 2e15,
    chargedAt: 1e15,
    source: 'redis',
  });

  /** Returns an adjuster whose server replies in turn, and the keys of each call. */
  function adjusterOf(...replies: readonly (number[] | Error)[]) {
    const calls: (readonly string[])[] = [];
    const next = {
      run(call: Call) {
        const reply = replies[calls.length]!;
        calls.push(call.keys.filter((key) => !key.endsWith(':reset')));
        return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
      },
    };
    const feed = { changed: () => undefined } as object;
    const clock = () => 1e12;
    return {
      calls,
      adjuster: new Adjuster(next, {} as object as CurrentClient, feed as ChangeFeed, undefined, clock),
    };
  }

  it('are made by the next calls', async () => {
    const { adjuster, calls } = adjusterOf([1, -1, 0, -1], [1, -1], [1]);
    expect(await adjuster.adjust(['a', 'b', 'c', 'd'].map(refund))).toEqual([true, true, false, true]);
    expect(calls).toEqual([['a', 'b', 'c', 'd'], ['b', 'd'], ['d']]);
  });

  it('are retried if the next call fails, and the results of the others are not lost', async () => {
    const { adjuster, calls } = adjusterOf([1, -1], new Error('Connection is closed.'), [1]);
    expect(await adjuster.adjust(['a', 'b'].map(refund))).toEqual([true, false]);
    await adjuster.retries.close();
    expect(calls).toEqual([['a', 'b'], ['b'], ['b']]);
  });
});
