import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';
import { EVERY_RULE, everyRule } from './every-rule.js';
import { STRANGE_SUBJECTS } from './strange-subjects.js';

const time = new VirtualTime();
const opened: RedisKeys[] = [];

let inVirtualTime: RedisStore;
let inServerTime: RedisStore;
let keys: RedisKeys;
let limiter: RateLimiter;

function use(store: RedisStore): void {
  const prefix = uniquePrefix();
  limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
  keys = new RedisKeys(redisUrl(), prefix);
  opened.push(keys);
}

beforeAll(async () => {
  inVirtualTime = await openRedisStore({ clock: time.clock });
  inServerTime = await openRedisStore();
});

beforeEach(() => {
  time.now = new VirtualTime().now;
  use(inVirtualTime);
});

afterAll(async () => {
  for (const each of opened) each.close();
  await inVirtualTime.close();
  await inServerTime.close();
});

const DAY_MS = 86_400_000;

describe('the keys of a request in Redis', () => {
  it('a request leaves one key per rule and subject in Redis', async () => {
    await limiter.consume(EVERY_RULE, 'ann');
    await limiter.consume(EVERY_RULE, 'bob');
    expect(await keys.names()).toHaveLength(2 * EVERY_RULE.length);
  });

  it('a denial changes neither a byte nor the time to live of a key', async () => {
    await limiter.consume(EVERY_RULE, 'ann', { cost: 3 });
    await keys.persist();
    const before = await keys.contents();
    time.advance(100);
    const tight: Rule = { name: 'tight', algorithm: 'fixed-window', limit: 0, window: '1m' };
    expect((await limiter.consume([...EVERY_RULE, tight], 'ann')).allowed).toBe(false);
    expect((await limiter.consume(EVERY_RULE, 'ann', { cost: 3 })).allowed).toBe(false);
    expect((await limiter.consume(EVERY_RULE, 'ann', { cost: 6 })).retryAfterMs).toBeNull();
    expect(await keys.contents()).toEqual(before);
  });

  it('a denied hold or a peek changes no key of a concurrency limit', async () => {
    const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 3, lease: '1m' };
    await limiter.hold(rule, 'ann', { cost: 3 });
    await keys.persist();
    const before = await keys.contents();
    time.advance(100);
    expect((await limiter.hold(rule, 'ann')).allowed).toBe(false);
    expect((await limiter.hold(rule, 'ann', { cost: 4 })).allowed).toBe(false);
    await limiter.peek(rule, 'ann');
    expect(await keys.contents()).toEqual(before);
    await limiter.close();
  });

  it('a denied request of a blocked subject changes no key, not even the block', async () => {
    const blocking = EVERY_RULE.map((rule): Rule => ({ ...rule, block: '1h' }));
    await limiter.consume(blocking, 'ann', { cost: 5 });
    expect((await limiter.consume(blocking, 'ann')).allowed).toBe(false);
    expect(await keys.names()).toHaveLength(2 * EVERY_RULE.length);
    await keys.persist();
    const before = await keys.contents();
    time.advance(100);
    expect((await limiter.consume(blocking, 'ann')).allowed).toBe(false);
    await limiter.peek(blocking, 'ann');
    expect(await keys.contents()).toEqual(before);
  });

  it('a peek, a denial or a reset of an unused counter leaves no key in Redis', async () => {
    await limiter.peek(EVERY_RULE, 'ann');
    await limiter.consume(EVERY_RULE, 'ann', { cost: 0 });
    await limiter.consume(EVERY_RULE, 'ann', { cost: 6 });
    await limiter.reset(EVERY_RULE, 'bob');
    expect(await keys.names()).toEqual([]);
  });

  it('a reset leaves its time in Redis for as long as the counter would have lived', async () => {
    const rule: Rule = { name: 'login', algorithm: 'gcra', limit: 5, window: '1m', block: '1h' };
    await limiter.consume(rule, 'ann', { cost: 4 });
    await limiter.consume(rule, 'ann', { cost: 2 });
    expect(await keys.names()).toHaveLength(2);
    const lifetime = Math.min(...(await keys.lifetimes()));
    await limiter.reset(rule, 'ann');
    expect(await keys.names()).toEqual([expect.stringMatching(/:reset$/)]);
    const [kept = NaN] = await keys.lifetimes();
    expect(kept).toBeLessThanOrEqual(lifetime);
    expect(kept).toBeGreaterThan(lifetime - 10_000);
  });

  it('no key lives forever, from the shortest window to the longest', async () => {
    const slow = everyRule({ limit: 5, windowMs: DAY_MS });
    for (const store of [inVirtualTime, inServerTime]) {
      use(store);
      for (const windowMs of [1, 2, 7000, 366 * DAY_MS]) {
        for (const rule of everyRule({ limit: 5, windowMs }))
          await limiter.consume(rule, `window ${windowMs}`);
      }
      for (const [, subject] of STRANGE_SUBJECTS) await limiter.consume(slow, subject);
      const lifetimes = await keys.lifetimes();
      expect(lifetimes.length).toBeGreaterThan(STRANGE_SUBJECTS.length * EVERY_RULE.length);
      expect(lifetimes).not.toContain(-1);
    }
  });

  it("a key expires soon after its window, by the server's clock", async () => {
    use(inServerTime);
    for (const rule of EVERY_RULE) await limiter.consume({ ...rule, window: '20ms' }, 'ann');
    await until(async () => (await keys.names()).length === 0, 'the keys to expire');
  });
});
