import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';
import { Herd } from './herd.js';
import { ms } from '../support/milliseconds.js';

/** A process that does not run for a lease loses its permits, as a busy machine may cause with a short one. */
const LEASE = 1500;
const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 7, lease: ms(LEASE) };

describe('three processes that hold two of seven permits each, of which one is killed', () => {
  const time = new VirtualTime();
  const start = time.now;
  const prefix = uniquePrefix();
  let herd: Herd;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeAll(async () => {
    herd = new Herd(3);
    store = await openRedisStore({ clock: time.clock });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
  });

  afterAll(async () => {
    await herd.stop();
    await store.close();
  });

  const ask = (cost: number) => limiter.peek(rule, 'everyone', { cost });
  const free = async () => (await ask(0)).remaining;

  /**
   * Advances the clock to an instant. The processes renew with real timers, so the clock waits until all have
   * renewed.
   */
  async function goTo(at: number): Promise<void> {
    time.now = start + at;
    herd.setTime(time.now);
    // Five permits are available when the leases of the killed process and of the first live one have ended.
    await until(async () => (await ask(5)).retryAfterMs === LEASE, 'the living to renew what they hold');
  }

  it('live processes keep their permits, and permits of a killed process return exactly when its lease ends', async () => {
    const task = { url: redisUrl(), prefix, rules: [rule], now: start };
    expect(await herd.enter({ ...task, cost: 2 })).toEqual([true, true, true]);
    expect(await free()).toBe(1);
    await herd.killOne();
    for (const at of [500, 1000, 1499]) {
      await goTo(at);
      expect(await free()).toBe(1);
      expect(await ask(3)).toMatchObject({ allowed: false, retryAfterMs: LEASE - at });
    }
    await goTo(LEASE);
    expect(await free()).toBe(3);
    const late = await limiter.hold(rule, 'everyone', { cost: 3 });
    expect([late.allowed, await free()]).toEqual([true, 0]);
    await late.release();
    for (const at of [2000, 2500, 3000, 3500, 4000, 4500]) {
      await goTo(at);
      expect([at, await free()]).toEqual([at, 3]);
    }
    await herd.leave();
    expect(await free()).toBe(7);
  });
});
