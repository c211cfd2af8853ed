import { describe, expect, it } from '@jest/globals';
import { algorithms } from '../../../algorithms/registry.js';
import type { Hit } from '../../../contracts/store.js';
import { StoreFault } from '../../../contracts/store-fault.js';
import type { CurrentClient } from '../link/current-client.js';
import type { Adjuster } from './adjuster.js';
import { Batches } from './batches.js';

const hit = (key: string): Hit => ({
  key,
  algorithm: algorithms.gcra,
  parameters: {},
  cost: 1,
  block: undefined,
  shadow: false,
});

describe('requests of a call that failed since the keys of one of them are on two servers', () => {
  it('are repeated one by one, also if the client is not one of a Cluster', async () => {
    const moving = new StoreFault('moving', 'TRYAGAIN', 'is moving a slot');
    const calls: (readonly string[])[] = [];
    const caller = {
      run({ keys }: { readonly keys: readonly string[] }) {
        calls.push(keys);
        return keys.includes('b') ? Promise.reject(moving) : Promise.resolve([1, 9, 0, 60]);
      },
    };
    const none = {} as object;
    const batches = new Batches(caller, none as Adjuster, none as CurrentClient, undefined);
    const outcomes = await Promise.allSettled(['a', 'b', 'c'].map((key) => batches.decide([hit(key)], {})));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: moving });
    expect(calls).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
  });
});
