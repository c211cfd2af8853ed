import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

const tokens = { name: 'tokens', window: '1d', limit: 2_000, algorithm: 'fixed-window' } as const;
const calls = { name: 'calls', window: '1d', limit: 1, algorithm: 'gcra' } as const;

// The clock stands still: a cached denial is valid until a change is reported.
describe('a budget whose denial a process has cached', () => {
  let stores: RedisStore[];
  let limiters: RateLimiter[];

  beforeEach(async () => {
    const { clock } = new VirtualTime();
    stores = await Promise.all([openRedisStore({ clock }), openRedisStore({ clock })]);
    const prefix = uniquePrefix();
    limiters = stores.map((store) => new RateLimiter({ store, prefix, onStoreError: 'deny' }));
  });
  afterEach(async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await Promise.all(stores.map((store) => store.close()));
  });

  const reserve = (limiter: RateLimiter) =>
    limiter.reserve([tokens, calls], 'ann', { cost: { tokens: 600, calls: 1 } });

  it.each([
    ['this process', 0],
    ['another process', 1],
  ])('is available again when %s settles for less', async (_title, by) => {
    const here = limiters[0]!;
    const budget = await reserve(limiters[by]!);
    expect(budget.allowed).toBe(true);
    const isCached = async () => (await reserve(here)).decision.source === 'cache';
    await until(isCached, 'a denial from the cache');
    expect(await budget.settle({ tokens: 300, calls: 0 })).toBe(true);
    await until(async () => (await reserve(here)).allowed, 'the refund to arrive');
  });

  it.each([
    ['this process', 0],
    ['another process', 1],
  ])('is available again when %s cancels', async (_title, by) => {
    const here = limiters[0]!;
    const budget = await reserve(limiters[by]!);
    await until(async () => (await reserve(here)).decision.source === 'cache', 'a denial from the cache');
    expect(await budget.cancel()).toBe(true);
    await until(async () => (await reserve(here)).allowed, 'the refund to arrive');
  });

  it('is not cached if a smaller cost would fit, so that the next request is decided by Redis', async () => {
    const [here, there] = limiters as [RateLimiter, RateLimiter];
    const budget = await there.reserve(tokens, 'ann', { cost: 600 });
    const denied = await here.reserve(tokens, 'ann', { cost: 1_500 });
    expect([denied.allowed, denied.decision.source]).toEqual([false, 'redis']);
    await budget.settle(300);
    expect((await here.reserve(tokens, 'ann', { cost: 1_500 })).allowed).toBe(true);
  });
});
