import { expect, it } from '@jest/globals';
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
