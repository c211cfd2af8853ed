import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ConcurrencyRule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { draws } from '../../lib/testing/store-contract.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { until } from '../support/redis/until.mjs';
import { Herd } from './herd.js';

const PROCESSES = 4;
const EACH = 500;
const LIMIT = 7;
const rule: ConcurrencyRule = {
  name: 'jobs',
  algorithm: 'concurrency',
  limit: LIMIT,
  queue: 10_000,
  lease: '10m', // so that no wait is long enough for a renewal
};

/** The names of the leases that were handed permits, in the order in which Redis handed them. */
async function grantsOf(prefix: string) {
  const redis = new Redis(redisUrl());
  const turns: string[] = [];
  redis.on('pmessage', (_pattern, _channel, message: string) => {
    if (message !== '') turns.push(message.slice(prefix.length)); // An empty one tries the right to publish.
  });
  await redis.psubscribe(`${prefix}grants:*`);
  return { turns, end: () => redis.disconnect() };
}

describe(`${PROCESSES} processes in which ${EACH} holds wait at once for ${LIMIT} permits`, () => {
  const prefix = uniquePrefix();
  let store: RedisStore;
  let limiter: RateLimiter;
  let herd: Herd;
  let crowds: Awaited<ReturnType<Herd['wait']>>;
  let order: readonly string[];
  let seconds: number;

  beforeAll(async () => {
    store = await openRedisStore();
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    herd = new Herd(PROCESSES);
    const { turns, end } = await grantsOf(prefix);
    const start = performance.now();
    const all = await limiter.hold(rule, 'everyone', { cost: LIMIT });
    const waiting = herd.wait({ url: redisUrl(), prefix, rules: [rule], hits: EACH, inFlight: EACH });
    const redis = new Redis(redisUrl());
    const [key] = await keysOf(redis, prefix);
    const places = async () => (await redis.zcard(key!)) - 1 - LIMIT;
    await until(async () => (await places()) === 2 * PROCESSES * EACH, 'all to wait', 30_000);
    await all.release();
    crowds = await waiting;
    seconds = Math.ceil((performance.now() - start) / 1000);
    await until(() => turns.length >= PROCESSES * EACH, 'every turn to be heard');
    order = turns;
    end();
    redis.disconnect();
  }, 120_000);

  afterAll(async () => {
    await herd.stop();
    await limiter.close();
    await store.close();
  });

  it('are served first come, first served, by the order in which Redis received them', () => {
    const joined = new Map(crowds.flatMap(({ joined: of }) => of));
    const place = (lease: string) => [joined.get(lease)!, Number(lease.split('-')[1])] as const;
    const sorted = [...order].sort((a, b) => {
      const [[atA, nthA], [atB, nthB]] = [place(a), place(b)];
      return atA - atB || nthA - nthB;
    });
    expect(order).toEqual(sorted);
    expect(new Set(order).size).toBe(PROCESSES * EACH);
  });

  it(`are never more than ${LIMIT} inside`, () => {
    const most = Math.max(...crowds.map((crowd) => crowd.most));
    expect(most).toBeLessThanOrEqual(LIMIT);
    expect(most).toBeGreaterThan(LIMIT - 3);
  });

  it('ask about twice for each entry: to join, and when it is their turn', () => {
    const asks = crowds.reduce((sum, crowd) => sum + crowd.asks, 0);
    const again = PROCESSES * seconds; // Once a second, the first of each process asks in case a turn was lost.
    // Each subscription of a process lets all that wait ask once more: the first, and on a busy machine further ones. With
    // polling, it would be hundreds.
    expect((asks - again) / (PROCESSES * EACH)).toBeLessThanOrEqual(8);
  });

  it('leave every permit free and no place behind', async () => {
    expect(await limiter.peek(rule, 'everyone', { cost: 0 })).toMatchObject({
      remaining: LIMIT,
      resetAfterMs: 0,
    });
  });
});

describe('a process that is killed while it holds permits and waits for others', () => {
  const lease = 1000;
  const brief: ConcurrencyRule = { ...rule, name: 'brief', lease: `${lease}ms` };

  it('holds up the others for a lease, and then they go on', async () => {
    const prefix = uniquePrefix();
    const store = await openRedisStore();
    const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    const victim = new Herd(1);
    const others = new Herd(2);
    const redis = new Redis(redisUrl());
    try {
      const task = { url: redisUrl(), prefix, rules: [brief], inFlight: 0 };
      const killed = victim.wait({ ...task, hits: 100, stay: 60_000 }).catch(() => 'killed');
      await until(
        async () => (await limiter.peek(brief, 'everyone', { cost: 0 })).remaining === 0,
        'the victim to enter',
      );
      const served = others.wait({ ...task, hits: 50 });
      const [key] = await keysOf(redis, prefix);
      await until(
        async () => (await redis.zcard(key!)) >= 1 + LIMIT + 2 * (100 - LIMIT + 100),
        'all to wait',
        30_000,
      );
      await victim.killOne();
      expect(await killed).toBe('killed');
      expect((await served).map(({ joined }) => joined.length)).toEqual([50, 50]);
      await until(
        async () => (await limiter.peek(brief, 'everyone', { cost: 0 })).remaining === LIMIT,
        'all to be free',
      );
    } finally {
      await Promise.all([victim.stop(), others.stop()]);
      redis.disconnect();
      await limiter.close();
      await store.close();
    }
  }, 60_000);
});

describe('holds that give up at any moment', () => {
  it('lose no permit, and are never more inside than the limit', async () => {
    const prefix = uniquePrefix();
    const stores = await Promise.all([openRedisStore(), openRedisStore(), openRedisStore()]);
    const limiters = stores.map((store) => new RateLimiter({ store, prefix, onStoreError: 'deny' }));
    const draw = draws();
    let [inside, most, entries, gaveUp] = [0, 0, 0, 0];
    const visit = async (limiter: RateLimiter): Promise<void> => {
      const controller = new AbortController();
      const options = {
        maxWait: `${1 + draw(400)}ms` as const,
        signal: controller.signal,
        cost: 1 + draw(3),
      };
      if (draw(3) === 0) setTimeout(() => controller.abort(new Error('gone')), draw(300));
      const permit = await limiter.hold(rule, 'ann', options).catch(() => undefined);
      if (!permit?.allowed) {
        gaveUp++;
        return;
      }
      entries++;
      inside += options.cost;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, draw(4)));
      inside -= options.cost;
      expect(await permit.release()).toBe(true);
    };
    const visits = async (limiter: RateLimiter) => {
      for (let times = 0; times < 12 || Math.min(entries, gaveUp) < 100; times++) await visit(limiter);
    };
    await Promise.all(limiters.flatMap((limiter) => Array.from({ length: 20 }, () => visits(limiter))));
    expect(most).toBeLessThanOrEqual(LIMIT);
    expect(await limiters[0]!.peek(rule, 'ann', { cost: 0 })).toMatchObject({
      remaining: LIMIT,
      resetAfterMs: 0,
    });
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await Promise.all(stores.map((store) => store.close()));
  }, 60_000);
});

async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  let keys: string[] = [];
  await until(async () => {
    keys = (await redis.keys(`${prefix}*`)).filter((key) => key.endsWith('concurrency2'));
    return keys.length > 0;
  }, 'the key');
  return keys;
}
