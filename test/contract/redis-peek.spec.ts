import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { EVERY_KIND } from './every-option.js';
import { take } from './take.js';

describe.each(EVERY_KIND)('peek in Redis by $algorithm ($name)', (rule) => {
  const time = new VirtualTime();
  let store: RedisStore;
  let keys: RedisKeys;
  let limiter: RateLimiter;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
  });

  beforeEach(() => {
    const prefix = uniquePrefix();
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
    keys = new RedisKeys(redisUrl(), prefix);
  });

  afterEach(() => {
    keys.close();
  });

  afterAll(() => store.close());

  /** Calls `peek` with every option, while the state is in use, when it expires, and after that. */
  async function askForLong(): Promise<void> {
    for (const advance of [0, 100, 2000, 8000, 10_000, 90_000_000]) {
      time.advance(advance);
      for (const cost of [0, 1, 3, 5, 6]) await limiter.peek(rule, 'ann', { cost });
      await take(limiter, rule, 0);
    }
  }

  it.each([
    ['has used a part', 2],
    ['has used all', 5],
  ])('a peek changes neither state nor time to live of a subject who %s', async (_, permits) => {
    for (let permit = 0; permit < permits; permit++) await take(limiter, rule);
    await keys.persist(); // Any expiry that a command sets is now visible.
    const before = await keys.contents();
    expect(Object.keys(before).length).toBeGreaterThan(0);
    await askForLong();
    expect(await keys.contents()).toEqual(before);
  });

  it('a peek changes no state of a subject with debt, a denial or a block', async () => {
    if (rule.algorithm !== 'concurrency') await (await limiter.reserve(rule, 'ann')).settle(9);
    for (let permit = 0; permit < 6; permit++) await take(limiter, rule);
    await keys.persist();
    const before = await keys.contents();
    await askForLong();
    expect(await keys.contents()).toEqual(before);
  });

  it('a peek leaves no key for an unused counter', async () => {
    await askForLong();
    expect(await keys.names()).toEqual([]);
  });
});
