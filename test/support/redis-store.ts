import { RateLimiter } from '../../lib/limiter.js';
import type { Clock } from '../../lib/contracts/clock.js';
import type { RedisConnection } from '../../lib/stores/redis/redis-option.js';
import { RedisStore } from '../../lib/redis.js';
import { redisUrl, uniquePrefix } from './redis/shared-redis.js';
import { until } from './redis/until.mjs';

/**
 * Opens a store that has already received a reply, so that work of this process cannot delay its first hit.
 *
 * @param options.redis the server; by default the shared one
 * @param options.clock by default the server's time
 */
export async function openRedisStore(
  options: { redis?: RedisConnection; clock?: Clock } = {},
): Promise<RedisStore> {
  const store = new RedisStore({ redis: redisUrl(), ...options, timeout: 10_000, connectTimeout: 30_000 });
  const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
  const answers = async () => (await limiter.peek({ limit: 1, window: '1s' }, 'probe')).source === 'redis';
  try {
    await until(answers, 'the Redis store to answer');
    await limiter.close();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
