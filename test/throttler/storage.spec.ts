import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { Redis } from 'ioredis';
import { MemoryStore } from '../../lib/index.js';
import type { Clock } from '../../lib/contracts/clock.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { RateLimitThrottlerStorage } from '../../lib/throttler.js';
import { runScript } from '../docs/run-script.js';
import { LogLines } from '../support/log-lines.js';
import { openRedisStore } from '../support/redis-store.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const NOON = Date.UTC(2030, 0, 1, 12);

/** The stores on a clock that the test advances. */
const STORES = {
  memory: (clock: Clock) => Promise.resolve(new MemoryStore({ clock })),
  redis: (clock: Clock) => openRedisStore({ clock }),
};

describe('RateLimitThrottlerStorage', () => {
  it("decides 10,000 random requests as throttler's own storage does, blocks and headers included", async () => {
    const { requests, blocked } = JSON.parse(await runScript('test/throttler/same-answers.mjs')) as {
      requests: number;
      blocked: number;
    };
    expect(requests).toBeGreaterThan(10_000);
    expect(blocked).toBeGreaterThan(3000);
  });

  it.each([
    { where: 'memory', url: [] },
    { where: 'Redis', url: [redisUrl()] },
  ])(
    'limits applications on @nestjs/throttler that share a storage in $where, with its guard and decorators',
    async ({ url }) => {
      const prefix = uniquePrefix();
      const responses = JSON.parse(await runScript('test/throttler/throttled-app.mjs', prefix, ...url));
      expect(responses).toEqual([
        [200, '2', '1', null],
        [200, '2', '0', null],
        [429, null, null, '120'],
        [429, null, null, '120'],
        // Of an application that started after the others had closed.
        url.length === 0 ? [200, '2', '1', null] : [429, null, null, '120'],
      ]);
      if (url.length === 0) return;
      const redis = new Redis(redisUrl());
      const keys = await redis.keys(`${prefix}*:default*`);
      redis.disconnect();
      expect(keys.filter((key) => key.endsWith(':default:sliding-window-log2/60000'))).toHaveLength(1);
    },
  );

  it.each(
    Object.entries(STORES).flatMap(([kind, open]) => [
      { kind, open, block: 5000, is: 'shorter than the ttl, and forgets the requests before it' },
      { kind, open, block: 10_000, is: 'as long as the ttl' },
      { kind, open, block: 15_000, is: 'longer than the ttl' },
    ]),
  )('ends a block ($kind) that is $is', async ({ open, block }) => {
    let now = NOON;
    const store = await open(() => now);
    const storage = new RateLimitThrottlerStorage({ store, prefix: uniquePrefix() });
    const hit = () => storage.increment('ann', 10_000, 2, block, 'default');
    expect(await hit()).toEqual({ totalHits: 1, timeToExpire: 10, isBlocked: false, timeToBlockExpire: 0 });
    now += 1000;
    expect(await hit()).toMatchObject({ totalHits: 2, timeToExpire: 9, isBlocked: false });
    const blocked = { totalHits: 3, isBlocked: true, timeToBlockExpire: block / 1000 };
    expect(await hit()).toMatchObject(blocked);
    now += block - 1;
    expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    now += 1;
    expect(await hit()).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false });
    expect(await hit()).toMatchObject(blocked);
    await storage.onApplicationShutdown();
  });

  it.each(Object.entries(STORES))('a blockDuration of 0 is no block (%s)', async (_kind, open) => {
    let now = NOON;
    const storage = new RateLimitThrottlerStorage({ store: await open(() => now), prefix: uniquePrefix() });
    const hit = () => storage.increment('ann', 10_000, 2, 0, 'default');
    await hit();
    now += 4000;
    await hit();
    expect(await hit()).toEqual({ totalHits: 3, timeToExpire: 6, isBlocked: true, timeToBlockExpire: 6 });
    now += 6000;
    expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false, timeToBlockExpire: 0 });
    await storage.onApplicationShutdown();
  });

  it.each(['sliding-window-counter', 'sliding-window-cells', 'fixed-window', 'gcra'] as const)(
    'counts requests of throttler with the algorithm %s if the option says so',
    async (algorithm) => {
      const store = new MemoryStore({ clock: () => NOON });
      const storage = new RateLimitThrottlerStorage({ store, algorithm });
      const hit = () => storage.increment('ann', 10_000, 2, 10_000, 'default');
      expect(await hit()).toMatchObject({ totalHits: 1, timeToExpire: 10, isBlocked: false });
      expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false });
      expect(await hit()).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 10 });
    },
  );

  it('counts each throttler and each key separately', async () => {
    // Its type is throttler's, although the package imports nothing of throttler.
    const storage: ThrottlerStorage & RateLimitThrottlerStorage = new RateLimitThrottlerStorage();
    for (const [key, name] of [
      ['ann', 'short'],
      ['ann', 'long'],
      ['bob', 'short'],
    ] as const) {
      expect(await storage.increment(key, 1000, 1, 1000, name)).toMatchObject({ totalHits: 1 });
    }
    expect(await storage.increment('ann', 1000, 1, 1000, 'long')).toMatchObject({ isBlocked: true });
    await storage.onApplicationShutdown();
  });

  it.each([
    { onStoreError: 'local', statuses: ['allowed', 'blocked'] },
    { onStoreError: 'allow', statuses: ['allowed', 'allowed'] },
    { onStoreError: 'deny', statuses: ['unavailable', 'unavailable'] },
  ] as const)(
    'a request of throttler without Redis is decided by onStoreError: $onStoreError',
    async ({ onStoreError, statuses }) => {
      // Nothing listens on port 1.
      const storage = new RateLimitThrottlerStorage({ redis: 'redis://127.0.0.1:1', onStoreError });
      const hit = () =>
        storage.increment('ann', 60_000, 1, 60_000, 'default').then(
          ({ isBlocked }) => (isBlocked ? 'blocked' : 'allowed'),
          (error: unknown) =>
            (error as Error).name === 'RateLimitUnavailableException' ? 'unavailable' : error,
        );
      expect([await hit(), await hit()]).toEqual(statuses);
      await storage.onApplicationShutdown();
    },
  );

  it('throws on an option that does not exist, and on an algorithm without a window', () => {
    expect(() => new RateLimitThrottlerStorage({ host: 'localhost' } as object)).toThrow(
      'RateLimitThrottlerStorage.host: no such option',
    );
    expect(() => new RateLimitThrottlerStorage({ algorithm: 'concurrency' as never })).toThrow(
      'algorithm: got "concurrency"; allowed: "sliding-window-log"',
    );
  });

  it('reports that its memory is full at maxKeys', async () => {
    const logs = new LogLines();
    Logger.overrideLogger(logs);
    const storage = new RateLimitThrottlerStorage({ algorithm: 'gcra', maxKeys: 2 });
    for (const key of ['ann', 'bob', 'eve']) await storage.increment(key, 60_000, 5, 0, 'default');
    const message = expect.stringMatching(/maxKeys \(2\) .+ Raise maxKeys, .+RL_MEMORY_FULL/);
    expect(logs.ours()).toContainEqual({ level: 'warn', message });
    Logger.overrideLogger(new Logger());
    await storage.onApplicationShutdown();
  });

  it('reports a Redis that was down before it started with a store that others use', async () => {
    const server = await startRedisServer();
    const store = await RedisStore.open({ redis: server.url });
    const limiter = new RateLimiter({ store });
    limiter.events.on('breaker', () => undefined);
    await server.stop();
    await until(async () => {
      await limiter.peek({ name: 'x', window: '1m', limit: 1 }, 'x');
      return limiter.events.openCircuits.size > 0;
    }, 'the breaker to open');
    const logs = new LogLines();
    Logger.overrideLogger(logs);
    const storage = new RateLimitThrottlerStorage({ store, onStoreError: 'deny' });
    await storage.onApplicationBootstrap();
    await expect(storage.increment('x', 1000, 1, 0, 'x')).rejects.toThrow(/cannot be checked/);
    expect(logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(/^Redis could not decide \(no .+denied with a 503.+UNAVAILABLE/),
      },
    ]);
    Logger.overrideLogger(new Logger());
    await limiter.close();
    await storage.onApplicationShutdown();
  });

  it('counts for applications that start in turn or together, and after one whose start failed', async () => {
    const storage = new RateLimitThrottlerStorage({ redis: redisUrl(), prefix: uniquePrefix() });
    const start = () => storage.onApplicationBootstrap();
    const close = () => storage.onApplicationShutdown();
    const hits = async () => (await storage.increment('ann', 60_000, 9, 0, 'default')).totalHits;
    await start();
    expect(await hits()).toBe(1);
    await close();
    await start();
    expect(await hits()).toBe(2);
    await start();
    await close();
    expect(await hits()).toBe(3);
    await close();
    await close(); // of an application that was created, and did not start
    await start();
    expect(await hits()).toBe(4);
    await close(); // another one that did not start, while one runs
    expect(await hits()).toBe(5);
    await close();
  });

  it('closes the store that it was given with the last application, and not before', async () => {
    let closed = 0;
    const store = new MemoryStore();
    const close = store.close.bind(store);
    Object.assign(store, { close: () => close().finally(() => (closed += 1)) });
    const storage = new RateLimitThrottlerStorage({ store });
    await storage.onApplicationBootstrap();
    await storage.onApplicationBootstrap();
    await storage.onApplicationShutdown();
    expect(closed).toBe(0);
    await storage.onApplicationShutdown();
    expect(closed).toBe(1);
  });
});
