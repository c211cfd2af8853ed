import { afterAll, describe } from '@jest/globals';
import { RateLimiter, type RedisConnection } from '../../lib/index.js';
import { RedisStore } from '../../lib/redis.js';
import { storeContract } from '../contract/store-contract.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';

/** Servers that run for one suite, and the way to them. */
export interface Topology {
  redis: RedisConnection;
  stop(): Promise<void>;
}

/**
 * Runs the whole store contract on servers that are not set up like the shared one.
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

/** Why a limiter cannot work there, as the application's log would say; undefined if it can. */
export async function whyRefused(
  redis: RedisConnection,
  prefix = uniquePrefix(),
): Promise<string | undefined> {
  const store = new RedisStore({ redis, timeout: 10_000 });
  const limiter = new RateLimiter({ store, prefix });
  try {
    await limiter.reset({ limit: 1, window: '1m' }, 'ann'); // Tells, where a hit goes by the fallback.
    return undefined;
  } catch (error) {
    return String(error);
  } finally {
    await store.close();
  }
}

/** What decides a request of one key, such as one on a slot that moves: `redis` or `fallback`. */
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
