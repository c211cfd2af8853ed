import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { plainRules } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

const PATIENCE_MS = 60_000;

const rules = plainRules({ limit: 1000, windowMs: 604_800_000 });

describe('a cost above the reservation', () => {
  let server: RedisServer;
  let proxy: Proxy;
  let store: RedisStore;
  let observingStore: RedisStore;
  let limiter: RateLimiter;
  let observer: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    proxy = await startProxy(server);
    const prefix = uniquePrefix();
    store = new RedisStore({ redis: proxy.url });
    observingStore = await openRedisStore({ redis: server.url });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
    observer = new RateLimiter({ store: observingStore, prefix, onStoreError: 'deny' });
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    await observer.close();
    await observingStore.close();
    await proxy.close();
    await server.stop();
  });

  const charged = async (rule: Rule): Promise<number> =>
    1000 - (await observer.peek(rule, 'ann', { cost: 0 })).remaining;

  /** Returns a reservation that Redis has decided. A busy machine may need several attempts. */
  async function reserve(rule: Rule) {
    for (;;) {
      const reservation = await limiter.reserve(rule, 'ann', { cost: 2 });
      if (reservation.decision.source === 'redis') return reservation;
      await limiter.reset(rule, 'ann').catch(() => undefined);
    }
  }

  it.each(
    rules.flatMap((rule) => (['request', 'reply'] as const).map((cut) => [rule.name, cut, rule] as const)),
  )(
    'a cost above the reservation is charged once by %s when the %s of its call is lost',
    async (_name, cut, rule) => {
      const reservation = await reserve(rule);
      const before = await charged(rule);
      proxy.each((connection) =>
        cut === 'reply' ? connection.cutNextReply(0) : connection.cutNextRequest(),
      );
      await reservation.settle(9);
      proxy.each(() => undefined);
      const peek = () => limiter.peek(rule, 'ann', { cost: 0 });
      await until(async () => (await peek()).source === 'redis', 'Redis to decide', PATIENCE_MS);
      await until(async () => (await charged(rule)) === before + 7, 'the charge to be made', PATIENCE_MS);
      await limiter.close();
      await store.close(); // Tries pending charges once more.
      expect(await charged(rule)).toBe(before + 7);
    },
    PATIENCE_MS,
  );
});
