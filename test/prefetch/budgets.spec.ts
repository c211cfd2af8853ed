import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { untilPrefetching } from '../support/until-prefetching.js';
import { VirtualTime } from '../support/virtual-store.js';

const calls = {
  name: 'calls',
  window: '1d',
  limit: 100,
  algorithm: 'fixed-window',
  prefetch: { permits: 10, ttl: '1s' },
} as const;
const tokens = { name: 'tokens', window: '1d', limit: 10_000, algorithm: 'fixed-window' } as const;
const streams = { name: 'streams', algorithm: 'concurrency', limit: 5 } as const;

describe('a reservation of a rule with prefetched permits', () => {
  let store: RedisStore;
  let limiter: RateLimiter;
  let prefix: string;

  beforeEach(async () => {
    store = await openRedisStore({ clock: new VirtualTime().clock });
    prefix = uniquePrefix();
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    await untilPrefetching(limiter);
  });
  afterEach(async () => {
    await limiter.close();
    await store.close();
  });

  /** What is left when the process has ended, and has refunded the permits that it did not use. */
  async function leftAtEnd(): Promise<number[]> {
    await limiter.close();
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    const { decisions } = await limiter.peek([calls, tokens, streams], 'ann', { cost: 0 });
    return decisions.map(({ remaining }) => remaining);
  }

  it('with others takes its permits in the call of the others, also if the process has some ahead', async () => {
    await limiter.consume(calls, 'ann');
    const budget = await limiter.reserve([calls, tokens, streams], 'ann', {
      cost: { calls: 2, tokens: 500 },
    });
    expect(await budget.settle({ calls: 3, tokens: 400 })).toBe(true);
    expect(await leftAtEnd()).toEqual([96, 9_600, 5]);
  });

  it.each([
    ['settled for more', 5, 95],
    ['settled for less', 1, 99],
    ['settled for nothing', 0, 100],
  ])('alone is charged what it took when it is %s', async (_title, actual, left) => {
    const budget = await limiter.reserve(calls, 'ann', { cost: 2 });
    expect(budget.allowed).toBe(true);
    expect(await budget.settle(actual)).toBe(true);
    expect((await leftAtEnd())[0]).toBe(left);
  });

  it('alone gets its permits back when it is cancelled', async () => {
    const budget = await limiter.reserve(calls, 'ann', { cost: 2 });
    expect(await budget.cancel()).toBe(true);
    expect((await leftAtEnd())[0]).toBe(100);
  });
});
