import { afterAll, describe } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisConnection } from '../../lib/stores/redis/redis-option.js';
import { RedisStore } from '../../lib/redis.js';
import { storeContract } from '../contract/store-contract.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';

/** The servers of a suite, and how to connect to them. */
export interface Topology {
  redis: RedisConnection;
  stop(): Promise<void>;
}

/**
 * Runs the store contract on servers that are configured differently from the shared one. Without its steady paces: the
 * arithmetic of a script does not depend on how its server is reached.
 *
 * @param more tests of this topology, while its servers run
 */
export function topologyContract<Servers extends Topology>(
  name: string,
  start: () => Promise<Servers>,
  more?: (servers: () => Servers) => void,
): void {
  describe(name, () => {
    let servers: Servers | undefined;
    storeContract('Redis', async (clock) => {
      servers = await start();
      return openRedisStore({ redis: servers.redis, clock });
    });
    more?.(() => servers!);
    afterAll(() => servers?.stop());
  });
}

/** Returns why a limiter cannot work there, as the application would log it; `undefined` if it works. */
export async function whyRefused(
  redis: RedisConnection,
  prefix = uniquePrefix(),
): Promise<string | undefined> {
  const store = new RedisStore({ redis, timeout: 10_000 });
  const limiter = new RateLimiter({ store, prefix });
  try {
    await limiter.reset({ limit: 1, window: '1m' }, 'ann'); // Reports the source of the decision.
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    await store.close();
  }
}

/** What decides a request with one key, such as a key in a moving slot: `redis` or `fallback`. */
export async function sourceOf(redis: RedisConnection, prefix: string): Promise<string> {
  const store = new RedisStore({ redis, timeout: 10_000 });
  const limiter = new RateLimiter({ store, prefix });
  try {
    const { source } = await limiter.consume({ limit: 1, window: '1m' }, 'ann');
    return source;
  } finally {
    await limiter.close();
    await store.close();
  }
}
