import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { RedisStore } from '../../lib/redis.js';
import { textOf } from '../readme/code-blocks.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { openRedisStore } from '../support/redis-store.js';
import { takeCensus, usedMemory } from './census.js';
import { addressOf, isLetIn, ruleOfEachAlgorithm } from './crowd.js';
import { flood, PATIENCE_MS, scaled, tell } from './scale.js';

const CLIENTS = scaled(1_000_000, 40_000);
const BRIEF_CLIENTS = scaled(100_000, 8000);

/** The memory of a key besides MEMORY USAGE: its entries in the tables of keys and of expiry times. */
const TABLES_BYTES = 128;

/** The bytes of a key that docs/algorithms states for an interval of 1,000 s or more between permits. */
function statedBytes(algorithm: string, isShort: boolean): number {
  const text = textOf(`docs/algorithms/${algorithm}.md`);
  const patterns = [
    ...(isShort ? [] : [/(\d+) bytes if the interval between permits is not/]),
    /(\d+) bytes if the interval between permits is 1,000 s or more/,
    /takes (\d+) bytes with one/,
    /(\d+) bytes with one/,
  ];
  const [, bytes] = patterns.map((pattern) => pattern.exec(text)).find((match) => match)!;
  return Number(bytes);
}

describe('a flood of clients, each another one', () => {
  let server: RedisServer;
  let redis: Redis;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
    store = await openRedisStore({ redis: server.url });
    limiter = new RateLimiter({ store, onStoreError: 'deny' });
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    redis.disconnect();
    await server.stop();
  });

  it.each([
    { days: 5, isShort: true, time: '4,320 s a permit' },
    { days: 7, isShort: false, time: '6,048 s a permit' },
  ])(
    'a flood of clients takes the documented memory in Redis at $time, and every key expires',
    async ({ days, isShort }) => {
      const window = days * 86_400_000;
      const rules = ruleOfEachAlgorithm(window);
      const before = await usedMemory(redis);
      let admitted = 0;
      await flood(CLIENTS, async (nth) => {
        if (await isLetIn(limiter, rules[nth % rules.length]!, addressOf(nth))) admitted += 1;
      });
      expect(admitted).toBe(CLIENTS);
      const bytesAKey = ((await usedMemory(redis)) - before) / CLIENTS;
      expect(await redis.dbsize()).toBe(CLIENTS + 1); // Includes the heartbeats.

      const census = await takeCensus(redis);
      const stated = rules.map(({ algorithm }) => statedBytes(algorithm!, isShort));
      expect(bytesAKey).toBeLessThanOrEqual(mean(stated) + TABLES_BYTES);
      expect(census.size).toBe(rules.length);
      for (const [algorithm, { keys, bytes, leaked, longestMs }] of census) {
        expect([algorithm, leaked]).toEqual([algorithm, []]);
        expect([algorithm, longestMs > 2 * window + 2]).toEqual([algorithm, false]);
        expect([algorithm, bytes / keys > statedBytes(algorithm, isShort)]).toEqual([algorithm, false]);
      }
      tell('bytes a key', { clients: CLIENTS, stated: mean(stated), used: bytesAKey });
    },
    PATIENCE_MS,
  );

  it(
    'a flood of clients leaves no key in Redis after the windows and blocks',
    async () => {
      const rules = ruleOfEachAlgorithm(1000, 1).map((rule): AnyRule => ({ ...rule, block: '800ms' }));
      let denied = 0;
      await flood(BRIEF_CLIENTS, async (nth) => {
        const ask = (): Promise<boolean> => isLetIn(limiter, rules[nth % rules.length]!, addressOf(nth));
        expect(await ask()).toBe(true);
        if (!(await ask())) denied += 1;
      });
      expect(denied).toBeGreaterThan(0);
      await limiter.close(); // Otherwise it would renew its leases.
      await until(async () => (await redis.dbsize()) === 0, 'every key to be gone', 60_000);
    },
    PATIENCE_MS,
  );
});

function mean(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0) / numbers.length;
}
