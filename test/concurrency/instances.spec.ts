import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { openRedisStore } from '../support/redis-store.js';
import { askServer } from '../support/redis/ask-server.js';
import { RedisKeys } from '../support/redis-keys.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const rule: Rule = { algorithm: 'fixed-window', limit: 10, window: '1h' };

describe('processes that share a limit', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  const open = async (prefix: string) => {
    const store = await openRedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store, prefix });
    await limiter.peek(rule, 'nobody');
    return { store, limiter };
  };

  it('processes know their number, enforce their share when Redis dies, and are no longer counted after closing', async () => {
    const prefix = uniquePrefix();
    const first = await open(prefix);
    const keys = new RedisKeys(server.url, prefix);
    const heartbeats = `${prefix}{instances}`;
    await until(async () => (await keys.redis.exists(heartbeats)) === 1, 'a heartbeat');
    expect(await keys.redis.pttl(heartbeats)).toBeGreaterThan(0);
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
      ...Array.from({ length: 5 }, () => 'fallback true'),
      ...Array.from({ length: 2 }, () => 'fallback false'),
    ]);
    for (const { limiter, store } of [second, third]) {
      await limiter.close();
      await store.close();
    }
    await first.store.close();
  });

  it('processes keep using a Redis that cannot store heartbeats, and emit the reason', async () => {
    const strict = await startRedisServer();
    await askServer(strict, 'ACL', 'SETUSER', 'default', '-zadd');
    const store = await openRedisStore({ redis: strict.url });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), instances: 2 });
    const errors: string[] = [];
    limiter.events.on('storeError', ({ error, call }) => errors.push(`${call} ${String(error)}`));
    await until(() => errors.length > 1, 'two heartbeats to fail');
    expect(errors[0]).toMatch(/^heartbeat StoreFault: Redis at .* does not permit .*\(NOPERM\)/);
    for (let nth = 1; nth <= 6; nth++) {
      expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true, source: 'redis' });
    }
    expect(limiter.events.openCircuits.size).toBe(0);
    expect(limiter.instanceCount).toBe(2);
    expect(String(limiter.instanceCountError)).toMatch(/^StoreFault: Redis at .* does not permit /);
    await limiter.close();
    await store.close();
    await strict.stop();
  });
});
