import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';

const RULE = { window: '1h', limit: 1000, algorithm: 'gcra' } as const;

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(() => server.stop());

it('a decision starts no timer of its own, neither here nor in ioredis', async () => {
  const store = await RedisStore.open({ redis: server.url });
  const limiter = new RateLimiter({ store, onStoreError: 'deny' });
  await limiter.consume(RULE, 'ann');
  const started = jest.spyOn(globalThis, 'setTimeout');
  for (let times = 0; times < 100; times += 1) await limiter.consume(RULE, 'ann');
  expect(started.mock.calls.length).toBeLessThan(50);
  started.mockRestore();
  await limiter.close();
  await store.close();
});
