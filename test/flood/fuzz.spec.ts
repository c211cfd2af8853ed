import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { VirtualTime } from '../support/virtual-store.js';
import { cachedScripts } from './census.js';
import { fuzzOf, SETS_OF_ALGORITHMS, strayAnswers } from './fuzz.js';
import { PATIENCE_MS, scaled } from './scale.js';

const { clock } = new VirtualTime();

describe('clients that send whatever they like', () => {
  it(
    'every random subject has its own counter in memory',
    async () => {
      const store = new MemoryStore({ clock, maxKeys: 200_000 });
      const fuzz = fuzzOf(100_000, 1);
      expect(await strayAnswers(fuzz, new RateLimiter({ store }))).toEqual([]);
      expect(store.size).toBe(fuzz.charged);
      await store.close();
    },
    PATIENCE_MS,
  );
});

describe('clients that send Redis whatever they like', () => {
  let server: RedisServer;
  let redis: Redis;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
    store = await openRedisStore({ redis: server.url, clock });
    limiter = new RateLimiter({ store, prefix: 'fuzz:', onStoreError: 'deny' });
  });

  afterEach(async () => {
    await store.close();
    redis.disconnect();
    await server.stop();
  });

  it(
    'every random subject has its own key in Redis, runs no other script, and changes no other key',
    async () => {
      await redis.set('untouched', 'by FLUSHALL');
      const fuzz = fuzzOf(scaled(100_000, 20_000), 2);
      expect(await strayAnswers(fuzz, limiter)).toEqual([]);
      expect(await cachedScripts(redis)).toBeLessThanOrEqual(SETS_OF_ALGORITHMS);
      expect(await redis.get('untouched')).toBe('by FLUSHALL');
      expect(await redis.dbsize()).toBe(fuzz.charged + 2); // Includes `untouched` and the heartbeats.

      const keys = new RedisKeys(server.url, '');
      const names = (await keys.names()).filter((name) => name !== 'untouched');
      keys.close();
      // One hash tag, and no other character that is special for Redis Cluster or a terminal.
      const strange = names.filter((name) => !/^fuzz:\{[!-z|~]{1,330}\}:[ -z|~]{1,240}$/.test(name));
      expect(strange).toEqual([]);
    },
    PATIENCE_MS,
  );
});
