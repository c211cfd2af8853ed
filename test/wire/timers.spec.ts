import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis-5';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { connect } from '../../lib/stores/redis/link/connection.js';
import { startProxy } from '../support/redis/proxy.js';
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
  const since = performance.now();
  for (let times = 0; times < 100; times += 1) await limiter.consume(RULE, 'ann');
  const ticks = (performance.now() - since) / 5; // Deadlines tick every 5 ms while calls wait for replies.
  expect(started.mock.calls.length).toBeLessThan(50 + ticks);
  started.mockRestore();
  await limiter.close();
  await store.close();
});

it('the timer of a handshake that was cut does not end the next connection with ioredis 5', async () => {
  const proxy = await startProxy(server);
  proxy.each((connection) => {
    connection.lose();
    setTimeout(() => connection.reset(), 50);
  });
  const own = new Redis(proxy.url, { lazyConnect: true });
  const client = connect(own, { timeout: 50, connectTimeout: 1000, socketTimeout: 1000 });
  client.on('error', () => undefined);
  await new Promise((resolve) => client.once('close', () => resolve(undefined)));
  proxy.each(() => undefined);
  await new Promise((resolve) => client.once('ready', () => resolve(undefined)));
  const closed = jest.fn();
  client.on('close', closed);
  await sleep(1200);
  expect(closed).not.toHaveBeenCalled();
  client.disconnect();
  await proxy.close();
});
