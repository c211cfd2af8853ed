import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { Hit, Store } from '../../lib/store.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import '../../lib/algorithms/registry.js';

const concurrency: AnyRule = { algorithm: 'concurrency', limit: 3, lease: '30s' };
const warmUp: AnyRule = { algorithm: 'token-bucket', limit: 3, window: '1s', warmUp: '7s' };
const leakyBucket = { algorithm: 'leaky-bucket', limit: 3, window: '1s' } as const;

const NOW = 1_700_000_040_000_000;
const CLOCK = String(NOW - 2 ** 53);

type Value = string | readonly string[];

interface Example {
  readonly rule: AnyRule;
  /** The end of the key. */
  readonly tail: string;
  /** The state after a permit at the start, and two more 100 ms later; a sorted set with its scores. */
  readonly state: Value;
  /** The state that a denial stores after the clock was then set back by ten hours. */
  readonly moved: Value;
}

const EXAMPLES: Example[] = [
  {
    rule: concurrency,
    tail: 'concurrency2',
    state: [
      ...['@0', String(NOW + 1e5 - 2 ** 53), 'process-1/1', String(NOW + 30e6)],
      ...['process-2/1', String(NOW + 301e5), 'process-2/2', String(NOW + 301e5)],
    ],
    moved: [
      ...['@36000000000', String(NOW + 1e5 - 2 ** 53), 'process-1/1', String(NOW + 30e6)],
      ...['process-2/1', String(NOW + 301e5), 'process-2/2', String(NOW + 301e5)],
    ],
  },
  {
    rule: warmUp,
    tail: 'token-bucket-warm-up2/1000/7000000',
    state: '1700000040100000 2614288 5999999',
    moved: '1699964040100000 2614288 5999999',
  },
  {
    rule: leakyBucket,
    tail: 'leaky-bucket2/1000',
    state: '1700000041000000@1700000040100000',
    moved: '1699964041000000@1699964040100000',
  },
  {
    rule: { ...leakyBucket, queue: '20s' },
    tail: 'leaky-bucket2/1000/20000000',
    state: '1700000041000000@1700000040100000',
    moved: '1699964041000000@1699964040100000',
  },
];

/** Commands that store a value which no algorithm wrote. Their first argument is the key. */
const DAMAGES: readonly (readonly [rule: AnyRule, command: string, ...value: string[]])[] = [
  [concurrency, 'ZADD', String(NOW + 5e6), 'process-1/1'], // a format without a clock
  [concurrency, 'ZADD', CLOCK, '@', String(NOW + 5e6), 'process-1/1'],
  [concurrency, 'ZADD', CLOCK, '@-1', String(NOW + 5e6), 'process-1/1'],
  [concurrency, 'ZADD', '-1', '@0', String(NOW + 5e6), 'process-1/1'],
  [concurrency, 'ZADD', CLOCK, '@0', '+inf', 'process-1/1'],
  [concurrency, 'ZADD', CLOCK, '@0', String(NOW + 5e6 + 0.5), 'process-1/1'],
  [concurrency, 'ZADD', CLOCK, '@0', String(NOW + 367 * 86_400e6), 'process-1/1'],
  [concurrency, 'ZADD', CLOCK, '@0', '-5', 'process-1?'],
  [concurrency, 'ZADD', CLOCK, '@0', String(2 ** 52 + NOW + 5e6), 'process-1!'],
  [concurrency, 'SET', '5'],
  [warmUp, 'SET', `${NOW} 5000000`],
  [warmUp, 'SET', `${NOW} 5000000 7000001`],
  [warmUp, 'SET', `${NOW} 5000000 7000000 1`],
  [warmUp, 'SET', `${NOW} 5000000 7000000 1/`],
  [warmUp, 'SET', `${NOW} 5000000 7000000 1/3 `],
  [warmUp, 'SET', `${NOW}  5000000 7000000`],
  [warmUp, 'SET', `${NOW} 5e6 7000000`],
  [warmUp, 'SET', ''],
  [warmUp, 'RPUSH', '5'],
  [leakyBucket, 'SET', `${NOW + 5e6}`], // a format without a written instant
  [leakyBucket, 'SET', `${NOW + 5e6}:1/3`],
  [leakyBucket, 'SET', `${NOW + 5e6}:1@${NOW}`],
  [leakyBucket, 'SET', `${NOW + 5e6}@${NOW}@`],
  [leakyBucket, 'SET', `${NOW + 5e6}@`],
  [leakyBucket, 'SET', `-${NOW}@${NOW}`],
  [leakyBucket, 'SET', ` ${NOW + 5e6}`],
  [leakyBucket, 'SET', ''],
  [leakyBucket, 'ZADD', '1', 'a'],
];

describe('the stored state of an algorithm with a queue', () => {
  const time = new VirtualTime();
  const prefix = uniquePrefix();
  let store: Store;
  let keys: RedisKeys;

  beforeAll(async () => {
    keys = new RedisKeys(redisUrl(), prefix);
    store = await openRedisStore({ clock: time.clock });
  });

  afterAll(async () => {
    keys.close();
    await store.close();
  });

  async function stored(key: string): Promise<Value | null> {
    return (await keys.redis.type(key)) === 'zset'
      ? keys.redis.zrange(key, '0', '-1', 'WITHSCORES')
      : keys.redis.get(key);
  }

  it.each(EXAMPLES)(
    'has the documented format, and is stored anew after the clock was set back: $tail',
    async (example) => {
      const { algorithm, parameters, stateName } = compileRule(example.rule);
      expect(stateName).toBe(example.tail);
      const key = `${prefix}{ann}:${stateName}`;
      const take = async (nth: number, cost: number, dryRun = false) => {
        const hit: Hit = { key, algorithm, parameters, cost, lease: `process-${nth}` };
        return (
          await store.decide([hit], { dryRun, maxWait: nth < 3 && !algorithm.leases ? Infinity : 0 })
        )[0]!;
      };
      time.now = NOW / 1000;
      await take(1, 1);
      time.advance(100);
      await take(2, 2);
      expect(await stored(key)).toEqual(example.state);
      time.advance(-36_000_000);
      await take(3, 100, true);
      expect(await stored(key)).toEqual(example.state);
      expect(await take(3, 100)).toMatchObject({ allowed: false });
      expect(await stored(key)).toEqual(example.moved);
      await store.reset([{ key, algorithm, parameters }]);
    },
  );

  it.each(
    DAMAGES.map(([rule, ...command]) => ({
      rule,
      command,
      title: `${rule.algorithm}: ${command.join(' ')}`,
    })),
  )(
    'fails its key alone if no algorithm wrote it, and is not overwritten: $title',
    async ({ rule, command: [command, ...value] }) => {
      time.now = NOW / 1000;
      const { algorithm, parameters } = compileRule(rule);
      const hitOf = (key: string): Hit => ({ key, algorithm, parameters, cost: 1, lease: 'process-9' });
      const [damaged, sound] = [hitOf(`${prefix}{ann}:damaged`), hitOf(`${prefix}{ann}:sound`)];
      await keys.redis.call(command, damaged.key, ...value);
      const before = await keys.redis.dumpBuffer(damaged.key);

      const [failed, decided] = await Promise.allSettled([
        store.decide([damaged], {}),
        store.decide([sound], {}),
      ]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { kind: 'key' } });
      expect(decided).toMatchObject({ value: [{ allowed: true }] });
      const refund = {
        ...damaged,
        kind: 'refund',
        receipt: 'process-9',
        chargedAt: 0,
        source: 'redis',
      } as const;
      expect(await store.adjust([refund])).toEqual([false]);
      expect(await keys.redis.dumpBuffer(damaged.key)).toEqual(before);
      expect(await keys.redis.pttl(damaged.key)).toBeGreaterThan(0);

      await store.reset([damaged, sound]);
      expect((await store.decide([damaged], {}))[0]).toMatchObject({ allowed: true });
      await store.reset([damaged]);
    },
  );
});
