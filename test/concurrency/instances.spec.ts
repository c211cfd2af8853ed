import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimiter, type Rule } from '../../lib/index.js';
import { openRedisStore } from '../support/redis-store.js';
import { RedisKeys } from '../support/redis-keys.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { hasRedisBinary, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const rule: Rule = { algorithm: 'fixed-window', limit: 10, window: '1h', onStoreError: 'local' };

// Docker gives the shared server alone.
(hasRedisBinary() ? describe : describe.skip)('processes that share a limit', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  const open = async (prefix: string) => {
    const store = await openRedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store, prefix, fallback: new MemoryStore() });
    await limiter.peek(rule, 'nobody');
    return { store, limiter };
  };

  it('know how many they are, go on with their part when Redis dies, and leave when they close', async () => {
    const prefix = uniquePrefix();
    const first = await open(prefix);
    const keys = new RedisKeys(server.url, prefix);
    await until(async () => (await keys.names()).length > 0, 'a sign of life');
    expect(Math.min(...(await keys.lifetimes()))).toBeGreaterThan(0);
    keys.close();
    const second = await open(prefix);
    await until(() => second.limiter.instanceCount === 2, 'the first to be counted');
    await first.limiter.close();
    const third = await open(prefix);
    await until(() => third.limiter.instanceCount === 2, 'the first not to be counted any more');

    await server.kill();
    const decisions = [];
    for (let nth = 0; nth < 7; nth++) decisions.push(await third.limiter.consume(rule, 'ann'));
    expect(decisions.map(({ allowed, source }) => `${source} ${String(allowed)}`)).toEqual([
      ...Array.from({ length: 5 }, () => 'memory true'),
      ...Array.from({ length: 2 }, () => 'memory false'),
    ]);
    for (const { limiter, store } of [second, third]) {
      await limiter.close();
      await store.close();
    }
    await first.store.close();
  });
});
