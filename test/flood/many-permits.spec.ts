import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ConcurrencyRule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { BaseStore, Store } from '../../lib/store.js';
import type { RedisStore } from '../../lib/redis.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { openRedisStore } from '../support/redis-store.js';
import { flood, PATIENCE_MS } from './scale.js';

const HOLDERS = 15_000;
const HELD: ConcurrencyRule = { algorithm: 'concurrency', limit: 1, lease: '20s' };

const renewed = new Set<string>();
const lost: number[] = [];
let store: RedisStore;

/** A store that records renewals. */
const watched = (): BaseStore =>
  Object.create(store, {
    adjust: {
      value: async (...[adjustments, options]: Parameters<Store['adjust']>) => {
        const adjusted = await store.adjust(adjustments, options);
        adjustments.forEach(({ key }, index) => adjusted[index] && renewed.add(key));
        return adjusted;
      },
    },
  }) as BaseStore;

beforeAll(async () => {
  store = await openRedisStore();
});

afterAll(() => store.close());

it(
  'a process that holds very many permits keeps all of them',
  async () => {
    const limiter = new RateLimiter({ store: watched(), prefix: uniquePrefix(), onStoreError: 'deny' });
    await flood(HOLDERS, async (holder) => {
      const { allowed, signal } = await limiter.hold(HELD, String(holder));
      if (!allowed) lost.push(holder);
      signal.addEventListener('abort', () => lost.push(holder));
    });
    renewed.clear();
    await until(() => renewed.size === HOLDERS, 'every permit to be renewed', 30_000);
    expect(lost).toEqual([]);
    await limiter.close();
  },
  PATIENCE_MS,
);
