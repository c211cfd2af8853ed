import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const IN_FLIGHT = 500;

describe('the sliding log in Redis', () => {
  const time = new VirtualTime();
  let store: RedisStore;
  let limiter: RateLimiter;
  let keys: RedisKeys;

  beforeAll(async () => {
    const prefix = uniquePrefix();
    store = await openRedisStore({ clock: time.clock });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    keys = new RedisKeys(redisUrl(), prefix);
  });

  afterAll(async () => {
    keys.close();
    await store.close();
  });

  it.each([100, 1000, 100_000])(
    'a sliding log allows a limit of %d one by one, in at most 24 bytes per request, and refunds them',
    async (limit) => {
      const rule: Rule = { name: `log-${limit}`, algorithm: 'sliding-window-log', limit, window: '1d' };
      for (let hit = 0; hit < limit; hit += IN_FLIGHT) {
        const count = Math.min(IN_FLIGHT, limit - hit);
        const decisions = await Promise.all(
          Array.from({ length: count }, () => limiter.consume(rule, 'ann')),
        );
        expect(decisions.every(({ allowed }) => allowed)).toBe(true);
        time.advance(1);
      }
      expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, remaining: 0 });
      const [key = ''] = (await keys.names()).filter((name) => name.includes(rule.name!));
      expect(await keys.redis.llen(key)).toBe(limit + 1); // One more entry: the base of the running total.
      expect((await keys.redis.memory('USAGE', key, 'SAMPLES', 0))! / limit).toBeLessThanOrEqual(24);

      time.advance(86_400_000);
      expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true, remaining: limit - 1 });
      expect(await keys.redis.llen(key)).toBe(2);
      await limiter.reset(rule, 'ann');
    },
    120_000,
  );

  it('a sliding log never holds more than the requests of one window', async () => {
    const rule: Rule = { name: 'steady', algorithm: 'sliding-window-log', limit: 10, window: '1s' };
    for (let hit = 0; hit < 100; hit++) {
      expect((await limiter.consume(rule, 'ann')).allowed).toBe(true);
      time.advance(100);
    }
    const [key = ''] = (await keys.names()).filter((name) => name.includes('steady'));
    expect(await keys.redis.llen(key)).toBe(11);
  });
});
