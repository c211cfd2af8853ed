import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryStore, type ConcurrencyRule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { untilPrefetching } from '../support/until-prefetching.js';

const RULE: Rule = { algorithm: 'gcra', limit: 1000, window: '1h', prefetch: { permits: 10 } };
const HELD: ConcurrencyRule = { algorithm: 'concurrency', limit: 5, lease: '75d' };

describe('a limiter and its store that are closed more than once', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(() => server.stop());

  it('a limiter and its store can be closed repeatedly and concurrently under load', async () => {
    const store = await openRedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
    await untilPrefetching(limiter);
    const calls = Array.from({ length: 500 }, (_, nth) => limiter.consume(RULE, String(nth % 7)));
    const permit = await limiter.hold(HELD, 'ann');
    await Promise.all([limiter.close(), limiter.close()]);
    await Promise.all([store.close(), store.close()]);
    await store.close();
    await limiter.close();
    expect((await Promise.all(calls)).every(({ allowed }) => allowed)).toBe(true);
    await permit.release();
  });

  it('calls after the close of a limiter all go to the fallback', async () => {
    const store = await openRedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
    await limiter.close();
    await store.close();
    expect(await limiter.consume(RULE, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
    expect((await limiter.hold(HELD, 'ann')).allowed).toBe(false);
    expect(await limiter.peek(RULE, 'ann')).toMatchObject({ source: 'fallback' });
    await expect(limiter.reset(RULE, 'ann')).rejects.toThrow('the store is closed');
  });

  it('a limiter can be closed before the first connection is established', async () => {
    const store = new RedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'allow' });
    const call = limiter.consume(RULE, 'ann');
    await Promise.all([limiter.close(), store.close(), store.close()]);
    expect((await call).allowed).toBe(true);
  });

  it('a limiter in memory can be closed twice', async () => {
    const store = new MemoryStore();
    const limiter = new RateLimiter({ store });
    await limiter.consume(RULE, 'ann');
    await Promise.all([limiter.close(), limiter.close(), store.close(), store.close()]);
    expect((await limiter.consume(RULE, 'ann')).allowed).toBe(true);
  });
});
