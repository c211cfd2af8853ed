import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const START = 1_700_000_040_000_000;
const HOURS = 36_000_000_000;
const HEAD = 'shares';
const rule: Rule = {
  name: 'api',
  algorithm: 'gcra',
  limit: 60,
  window: '1m',
  share: { weights: { gold: 3 } },
};

function encode(...numbers: readonly number[]): Buffer {
  const doubles = Buffer.alloc(8 * numbers.length);
  numbers.forEach((value, index) => doubles.writeDoubleLE(value, 8 * index));
  return Buffer.concat([Buffer.from(HEAD), doubles]);
}

/** Returns the numbers of a state: `at`, `pool`, and for each tenant id, load, missing, due, seen. */
function decode(state: Buffer): number[] {
  expect(state.subarray(0, HEAD.length).toString()).toBe(HEAD);
  const count = (state.length - HEAD.length) / 8;
  return Array.from({ length: count }, (_, index) => state.readDoubleLE(HEAD.length + 8 * index));
}

/** 52 bits of the digests of "ann" and "gold". */
const [ANN, GOLD] = [2017929085884586, 4042749201903646];

describe('the stored state of a fair share', () => {
  const time = new VirtualTime();
  const prefix = uniquePrefix();
  const key = `${prefix}{api}:api:gcra-fair-share3/60000`;
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

  it('has the documented format, and is moved by a denial after the clock was set back', async () => {
    time.now = START / 1000;
    await limiter.consume(rule, 'ann', { cost: 50 });
    await limiter.consume(rule, 'gold', { cost: 2 });
    const ann = [ANN, 1 + 1024 * 50, 3000e6, START + 50e6, START];
    const gold = [-GOLD, 3 + 1024 * 2, 120e6, START + 2666667, START];
    expect(decode((await keys.redis.getBuffer(key))!)).toEqual([START, 0, ...ann, ...gold]);
    time.advance(-36_000_000);
    expect((await limiter.consume(rule, 'ann', { cost: 20 })).allowed).toBe(false);
    const back = [ANN, 1 + 1024 * 50, 3000e6, START - HOURS + 50e6, START - HOURS];
    const goldBack = [-GOLD, 3 + 1024 * 2, 120e6, START - HOURS + 2666667, START - HOURS];
    expect(decode((await keys.redis.getBuffer(key))!)).toEqual([START - HOURS, 0, ...back, ...goldBack]);
  });

  it.each([
    ['an empty string', Buffer.from('')],
    ['an earlier format', encode(60e6, 60, START, 0)],
    ['another head', Buffer.concat([Buffer.from('sharer'), encode(START, 0).subarray(HEAD.length)])],
    ['a part of a tenant', encode(START, 0, ANN, 1, 0)],
  ])('is an error of its key if it is %s', async (_, damaged) => {
    await keys.redis.set(key, damaged);
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
    expect(await keys.redis.getBuffer(key)).toEqual(damaged);
    expect(await keys.redis.pttl(key)).toBeGreaterThan(0);
    await keys.redis.del(key);
  });
});
