import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';

const PERMITS = 10;
const HELD: ConcurrencyRule = { name: 'jobs', algorithm: 'concurrency', limit: PERMITS, lease: '1d' };
const AHEAD: Rule = {
  algorithm: 'fixed-window',
  limit: 1000,
  window: '1d',
  prefetch: { permits: 200, ttl: '1d' },
};
const PATIENCE_MS = 60_000;

describe('permits of a call without a reply', () => {
  let server: RedisServer;
  let proxy: Proxy;
  let store: RedisStore;
  let limiter: RateLimiter;
  let observer: RateLimiter;
  let observingStore: RedisStore;

  beforeEach(async () => {
    server = await startRedisServer();
    proxy = await startProxy(server);
    const prefix = uniquePrefix();
    store = new RedisStore({ redis: proxy.url });
    observingStore = new RedisStore({ redis: server.url, timeout: 20_000, connectTimeout: 20_000 });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'allow' });
    observer = new RateLimiter({ store: observingStore, prefix, onStoreError: 'deny' });
    await decides();
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    await observingStore.close();
    await proxy.close();
    await server.stop();
  });

  const decides = (): Promise<void> =>
    until(async () => (await limiter.peek(HELD, 'probe')).source === 'redis', 'Redis to decide', PATIENCE_MS);
  const free = async (): Promise<number> => (await observer.peek(HELD, 'ann', { cost: 0 })).remaining;
  const left = async (): Promise<number> => (await observer.peek({ ...AHEAD }, 'ann', { cost: 0 })).remaining;

  /** Pauses the server until the fallback has decided the calls, which a busy machine may delay. */
  async function stall(milliseconds: number, calls: () => Promise<unknown>): Promise<void> {
    await server.pause();
    await Promise.all([calls(), sleep(milliseconds)]).finally(() => server.resume());
  }

  it.each([120, 1500, 4000])(
    'a concurrency permit is released when Redis stalls for %i ms during its call',
    async (milliseconds) => {
      const sources: string[] = [];
      await stall(milliseconds, async () => {
        const enter = () => limiter.hold(HELD, 'ann');
        const permits = await Promise.all(Array.from({ length: PERMITS }, enter));
        for (const { decision } of permits) sources.push(decision.source);
      });
      expect(sources).toEqual(Array.from({ length: PERMITS }, () => 'fallback'));
      await until(async () => (await free()) === PERMITS, 'every permit to be free', PATIENCE_MS);
      await decides();
      await sleep(1000);
      expect(await free()).toBe(PERMITS);
    },
    PATIENCE_MS,
  );

  it(
    'a concurrency permit released during a stall is released in Redis',
    async () => {
      let permit = await limiter.hold(HELD, 'ann');
      await until(
        async () => permit.decision.source === 'redis' || !!(permit = await limiter.hold(HELD, 'ann')),
        'Redis to decide',
      );
      await stall(300, () => permit.release());
      await until(async () => (await free()) === PERMITS, 'every permit to be free', PATIENCE_MS);
    },
    PATIENCE_MS,
  );

  it(
    'a concurrency permit is released when the connection closes before the reply',
    async () => {
      // The server receives the call, and its reply is lost.
      proxy.each((connection) => connection.cutNextReply(0));
      await Promise.all(Array.from({ length: PERMITS }, () => limiter.hold(HELD, 'ann')));
      proxy.each(() => undefined);
      await until(async () => (await free()) === PERMITS, 'every permit to be free', PATIENCE_MS);
    },
    PATIENCE_MS,
  );

  it.each([120, 4000])(
    'prefetched permits are refunded when Redis stalls four times for %i ms during their calls',
    async (milliseconds) => {
      for (let nth = 0; nth < 4; nth += 1) {
        await untilPrefetching(limiter, PATIENCE_MS);
        await stall(milliseconds, () => limiter.consume({ ...AHEAD }, 'ann'));
        await decides();
        await until(async () => (await left()) === AHEAD.limit, 'the permits to come back', PATIENCE_MS);
      }
    },
    2 * PATIENCE_MS,
  );

  it(
    'an unread reply is processed when the process was blocked for longer than a handshake may take',
    async () => {
      const own = new RedisStore({ redis: server.url });
      const blocked = new RateLimiter({ store: own, prefix: uniquePrefix(), onStoreError: 'allow' });
      await until(async () => (await blocked.peek(HELD, 'ann')).source === 'redis', 'Redis to decide');
      await server.pause();
      const held = blocked.hold(HELD, 'ann');
      await sleep(10); // The call is written.
      await setImmediate(); // From here on, timers run before replies are read.
      process.kill(server.pid, 'SIGCONT');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_500);
      expect((await held).decision.source).toBe('redis');
      await blocked.close();
      await own.close();
    },
    PATIENCE_MS,
  );
});
