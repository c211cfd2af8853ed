import { expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

it('a denial that arrives while its store closes opens no connection, which would keep the process from exiting', async () => {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  const clients = async () => ((await redis.client('LIST')) as string).trim().split('\n').length;
  await redis.ping();
  const store = new RedisStore({ redis: server.url });
  const limiter = new RateLimiter({ store });
  const rule = { window: '1h', limit: 1, algorithm: 'gcra' } as const;
  await limiter.consume(rule, 'ann');
  const denied = limiter.consume(rule, 'ann');
  await Promise.all([store.close(), denied]);
  expect(await denied).toMatchObject({ allowed: false, source: 'redis' });
  await until(async () => (await clients()) === 1, 'the connections to end');
  await limiter.close();
  redis.disconnect();
  await server.stop();
});

it('a closed store that is still used is reported once by a process warning, unless a listener hears of it', async () => {
  const server = await startRedisServer();
  const emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const store = new RedisStore({ redis: server.url });
  const [limiter, heard] = [new RateLimiter({ store }), new RateLimiter({ store })];
  const failures: string[] = [];
  heard.events.on('storeError', ({ error }) => failures.push(error.message));
  const rule = { window: '1h', limit: 5 } as const;
  await limiter.consume(rule, 'ann');
  await store.close();
  for (const each of [limiter, limiter, heard]) {
    expect(await each.consume(rule, 'ann')).toMatchObject({ allowed: true, source: 'fallback' });
  }
  await Promise.all([limiter.close(), heard.close(), server.stop()]);
  const warnings = emitted.mock.calls.map(([message]) => message);
  emitted.mockRestore();
  expect(warnings).toEqual([expect.stringMatching(/^The store cannot decide: the store is closed\. Until /)]);
  expect(failures).toEqual(['the store is closed']);
});
