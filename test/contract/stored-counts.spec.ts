import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const quota = { name: 'api', limit: 5, window: '1m' } as const;

/** A string, or the entries of a list in hex. */
type Stored = string | readonly string[];

interface Example {
  readonly rule: Rule;
  /** The end of the key. */
  readonly tail: string;
  /** The state after two permits at the start, and one more 7 s later. */
  readonly state: Stored;
  /** The state after the clock was then set back by ten hours. */
  readonly moved: Stored;
  /** Values that are not states. */
  readonly damaged: readonly Stored[];
}

const START = new VirtualTime().now; // 1,700,000,040,000 ms: 060a241a809a00 in hex, in microseconds.

const BASE = '0'.repeat(28);
const FIRST = '060a241a809a0000000000000002';
const SECOND = '060a241aeb69c000000000000003';

const EXAMPLES: readonly Example[] = [
  {
    rule: { ...quota, algorithm: 'sliding-window-log' },
    tail: 'sliding-window-log2/60000',
    state: [BASE, FIRST, SECOND],
    moved: [BASE, '060a1bb92701c000000000000003'],
    damaged: [
      [BASE, FIRST, SECOND.slice(2)],
      [BASE, FIRST, `${SECOND}00`],
      [BASE, FIRST, Buffer.from('not an entry :').toString('hex')],
      [BASE.slice(2), FIRST, SECOND],
      ['00000000000000000000000000ff', FIRST, SECOND],
      [SECOND],
    ],
  },
  {
    rule: { ...quota, algorithm: 'sliding-window-counter' },
    tail: 'sliding-window-counter2/60000',
    state: '1700000047000000 3 0',
    moved: '1699964047000000 3 0',
    damaged: [
      '',
      '1700000047000000 3',
      '1700000047000000 3 0 60000000',
      '1700000047000000 3 -1',
      '1700000047000000 3 0 ',
      '{"count":3}',
    ],
  },
  {
    rule: { ...quota, algorithm: 'sliding-window-cells' },
    tail: 'sliding-window-cells2/60000',
    state: '1700000047000000 1 2',
    moved: '1699964047000000 3',
    damaged: [
      '',
      '1700000047000000',
      '1700000047000000 1 2 ',
      '1700000047000000 1,2',
      '60000000/10 1700000106000000 1 2',
      '1700000047000000 1 2 0 0 0 0 0 0 0 0 0 0',
    ],
  },
  {
    rule: { ...quota, algorithm: 'sliding-window-cells', cells: 60 },
    tail: 'sliding-window-cells2/60000/60',
    state: '1700000047000000 1 0 0 0 0 0 0 2',
    moved: '1699964047000000 3',
    damaged: ['1700000047000000 x 2'],
  },
  ...(['fixed-window2/60000', 'fixed-window2/60000/clock', 'token-bucket-interval2/60000'] as const).map(
    (tail) => {
      const options = {
        'fixed-window2/60000': { algorithm: 'fixed-window' },
        'fixed-window2/60000/clock': { algorithm: 'fixed-window', align: 'clock' },
        'token-bucket-interval2/60000': { algorithm: 'token-bucket', refill: 'interval' },
      } as const;
      return {
        rule: { ...quota, ...options[tail] },
        tail,
        state: '1700000040000000 3 7000000',
        moved: '1699964040000000 3 7000000',
        damaged: [
          '',
          '1700000040000000 3',
          '3 1700000040000000 0 60000000 1',
          '1700000040000000 3 -1',
          '1700000040000000 3 0 ',
          ' 1700000040000000 3 0',
        ],
      };
    },
  ),
  {
    rule: { ...quota, algorithm: 'fixed-window', window: 'day' },
    tail: 'calendar-window2/day',
    state: '1699920000000000 3 80047000000',
    moved: '1699920000000000 3 44047000000',
    damaged: ['1699920000000000 3'],
  },
  {
    rule: { ...quota, algorithm: 'token-bucket', refill: 'interval', limit: 2, burst: 4 },
    tail: 'token-bucket-interval2/60000/120000000',
    state: '1700000040000000 1 7000000 2',
    moved: '1699964040000000 1 7000000 2',
    damaged: [],
  },
];

describe('the stored state of an algorithm that counts', () => {
  const time = new VirtualTime();
  const prefix = uniquePrefix();
  let keys: RedisKeys;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeAll(async () => {
    keys = new RedisKeys(redisUrl(), prefix);
    store = await openRedisStore({ clock: time.clock });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
  });

  afterAll(async () => {
    keys.close();
    await limiter.close();
    await store.close();
  });

  const keyOf = ({ tail }: Example) => `${prefix}{ann}:api:${tail}`;

  async function stored(key: string): Promise<Stored | null> {
    if ((await keys.redis.type(key)) !== 'list') return keys.redis.get(key);
    return (await keys.redis.lrangeBuffer(key, 0, -1)).map((entry) => entry.toString('hex'));
  }

  async function write(key: string, value: Stored): Promise<void> {
    await keys.redis.del(key);
    if (typeof value === 'string') await keys.redis.set(key, value);
    else await keys.redis.rpush(key, ...value.map((entry) => Buffer.from(entry, 'hex')));
  }

  it.each(EXAMPLES)('has the documented format under the key that ends with $tail', async (example) => {
    time.now = START;
    await limiter.consume(example.rule, 'ann', { cost: 2 });
    time.advance(7000);
    await limiter.consume(example.rule, 'ann');
    expect(await stored(keyOf(example))).toEqual(example.state);
  });

  it.each(EXAMPLES)(
    'is stored anew by a denial after the clock was set back, but not by a peek: $tail',
    async (example) => {
      time.now = START + 7000 - 36_000_000;
      await write(keyOf(example), example.state);
      await limiter.peek(example.rule, 'ann', { cost: 3 });
      expect(await stored(keyOf(example))).toEqual(example.state);
      expect((await limiter.consume(example.rule, 'ann', { cost: 3 })).allowed).toBe(false);
      expect(await stored(keyOf(example))).toEqual(example.moved);
      expect(await keys.redis.pttl(keyOf(example))).toBeGreaterThan(0);
    },
  );

  it.each(
    EXAMPLES.flatMap((example) =>
      example.damaged.map((value) => ({ ...example, value, text: [value].flat().join(' ') })),
    ),
  )(
    'is an error of its key if it is damaged, and stays until a reset: $tail with "$text"',
    async (example) => {
      time.now = START + 8000;
      const key = keyOf(example);
      await write(key, example.value);
      expect(await limiter.consume(example.rule, 'ann')).toMatchObject({
        allowed: false,
        source: 'fallback',
      });
      expect(await stored(key)).toEqual(example.value);
      expect(await keys.redis.pttl(key)).toBeGreaterThan(0);
      expect(await limiter.reset(example.rule, 'ann')).toBe(true);
      expect(await limiter.consume(example.rule, 'ann')).toMatchObject({
        allowed: true,
        remaining: 4,
        source: 'redis',
      });
      await limiter.reset(example.rule, 'ann');
    },
  );
});
