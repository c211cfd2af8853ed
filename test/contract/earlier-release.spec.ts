import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimiter, type Rule } from '../../lib/index.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const quota = { name: 'old', limit: 5, window: '1m' } as const;

interface Earlier {
  readonly rule: Rule;
  /** The end of its key. */
  readonly tail?: string;
  /** The value in Redis: a string, or the entries of a list. */
  readonly state: string | readonly string[];
}

/** State in the format before it contained a window or a rate: 2 permits, and 1 more a second later. */
const EARLIER: Record<string, Earlier> = {
  'fixed-window': { rule: { ...quota, algorithm: 'fixed-window' }, state: '3 1700000040000000 0' },
  'a window of the calendar': {
    rule: { ...quota, algorithm: 'fixed-window', window: 'day' },
    tail: 'calendar-window',
    state: '3 1699920000000000 0',
  },
  'sliding-window-log': {
    rule: { ...quota, algorithm: 'sliding-window-log' },
    state: ['0'.repeat(28), '060a241a809a0000000000000002', '060a241a8fdc4000000000000003'],
  },
  'sliding-window-counter': {
    rule: { ...quota, algorithm: 'sliding-window-counter' },
    state: '1700000040000000 3 0',
  },
  'sliding-window-cells': {
    rule: { ...quota, algorithm: 'sliding-window-cells', cells: 5 },
    state: '1700000112000000 3',
  },
  'token-bucket': { rule: { ...quota, algorithm: 'token-bucket' }, state: '2 1700000040000000 0' },
  'token-bucket that warms up': {
    rule: { ...quota, algorithm: 'token-bucket', warmUp: '10s' },
    tail: 'token-bucket-warm-up',
    state: '1700000069000000 0 0',
  },
  gcra: { rule: { ...quota, algorithm: 'gcra' }, state: '1700000076000000' },
  'gcra at a rate that does not divide': {
    rule: { ...quota, algorithm: 'gcra', limit: 7 },
    state: '1700000065714285 5',
  },
  'leaky-bucket': {
    rule: { ...quota, algorithm: 'leaky-bucket', queue: 4, delayAfter: 4 },
    state: '1700000076000000',
  },
};

const START = new VirtualTime().now;

/** Seconds after the first hit at which both are compared. */
const MOMENTS = [1, 7.9, 12, 13, 31, 59.9, 60, 61, 119, 181];

describe('a counter that an earlier release has written', () => {
  const time = new VirtualTime();
  const prefix = uniquePrefix();
  const keys = new RedisKeys(redisUrl(), prefix);
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
  });

  afterAll(async () => {
    keys.close();
    await limiter.close();
    await store.close();
  });

  it.each(Object.entries(EARLIER))(
    'a counter of %s from an earlier release decides as before and continues in the current format',
    async (_, earlier) => {
      const { rule, tail = rule.algorithm, state } = earlier;
      const reference = new MemoryStore({ clock: time.clock });
      const expected = new RateLimiter({ store: reference, prefix });
      for (const [at, cost] of [
        [0, 2],
        [1000, 1],
      ] as const) {
        time.now = START + at;
        await expected.consume(rule, 'ann', { cost });
      }

      const key = `${prefix}{ann}:old:${tail}`;
      await keys.redis.del(key);
      if (typeof state === 'string') await keys.redis.set(key, state, 'PX', 600_000);
      else await keys.redis.rpush(key, ...state.map((entry) => Buffer.from(entry, 'hex')));

      for (const seconds of MOMENTS) {
        time.now = START + seconds * 1000;
        for (const cost of [1, 2, 3, 5]) {
          const { source: _here, ...asked } = await limiter.peek(rule, 'ann', { cost });
          const { source: _there, ...told } = await expected.peek(rule, 'ann', { cost });
          expect({ seconds, cost, ...asked }).toEqual({ seconds, cost, ...told });
        }
      }
      for (const seconds of MOMENTS) {
        time.now = START + seconds * 1000;
        const { allowed, remaining, retryAfterMs } = await limiter.consume(rule, 'ann');
        const told = await expected.consume(rule, 'ann');
        expect({ seconds, allowed, remaining, retryAfterMs }).toEqual({
          seconds,
          allowed: told.allowed,
          remaining: told.remaining,
          retryAfterMs: told.retryAfterMs,
        });
      }
      await expected.close();
      await reference.close();
    },
  );
});

describe('a backlog in Redis', () => {
  it.each([
    ['gcra', 100, '1m'],
    ['leaky-bucket', 100, '1d'],
    ['gcra', 1000, '1h'],
    ['gcra', 1, '1d'],
  ] as const)(
    'a backlog of %s at %i in %s is stored as an integer in Redis',
    async (algorithm, limit, window) => {
      const prefix = uniquePrefix();
      const keys = new RedisKeys(redisUrl(), prefix);
      const store = await openRedisStore();
      const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
      const rule: Rule =
        algorithm === 'gcra'
          ? { name: 'small', algorithm, limit, window }
          : { name: 'small', algorithm, limit, window, queue: 10 };
      await limiter.consume(rule, 'ann');
      const names = await keys.names();
      const forms = await Promise.all(names.map((name) => keys.redis.object('ENCODING', name)));
      expect(forms).toEqual(['int']);
      keys.close();
      await limiter.close();
      await store.close();
    },
  );
});
