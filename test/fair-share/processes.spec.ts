import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Herd } from '../concurrency/herd.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const NOW = 1_700_000_040_000;
const TENANTS = ['gold', 'ann', 'bob'];

describe('a share rule in four processes on one Redis', () => {
  let herd: Herd;

  beforeAll(() => {
    herd = new Herd(4);
  });

  afterAll(() => herd.stop());

  it('all processes together give each tenant exactly its part, and no permit beyond the limit', async () => {
    const rule: Rule = {
      name: 'api',
      algorithm: 'gcra',
      limit: 400,
      window: '1h',
      share: { weights: { gold: 2 } },
    };
    const prefix = uniquePrefix();
    const store = await openRedisStore({ clock: () => NOW });
    const limiter = new RateLimiter({ store, prefix });
    for (const tenant of TENANTS) expect((await limiter.consume(rule, tenant)).allowed).toBe(true);

    // No process alone asks for as many as there are.
    const task = { url: redisUrl(), prefix, rules: [rule], now: NOW, hits: 180, inFlight: 50 };
    const counts = await herd.share({ ...task, tenants: TENANTS });
    const totals = TENANTS.map((_, index) => counts.reduce((sum, each) => sum + each[index]!, 0));
    // Each has taken one before.
    expect(totals).toEqual([199, 99, 99]);
    expect(counts.filter((each) => each.some((permits) => permits > 0)).length).toBeGreaterThan(1);

    const { share, remaining } = await limiter.peek(rule, 'gold', { cost: 0 });
    expect({ share, remaining }).toEqual({ share: { guaranteed: 200, borrowed: 0 }, remaining: 0 });
    await limiter.close();
    await store.close();
  }, 60_000);
});
