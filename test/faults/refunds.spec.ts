import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const rule: Rule = { limit: 500, window: '1d', algorithm: 'fixed-window' };
const lease: ConcurrencyRule = { name: 'held', algorithm: 'concurrency', limit: 2, lease: '1d' };

describe('refunds while Redis cannot make them', () => {
  let server: RedisServer;
  let store: RedisStore;
  let limiter: RateLimiter;

  beforeEach(async () => {
    server = await startRedisServer();
    store = new RedisStore({ redis: { host: server.host, port: server.port }, timeout: 200 });
    limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
    await until(async () => (await limiter.peek(rule, 'ann')).source === 'redis', 'Redis to decide', 30_000);
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    await server.stop();
  });

  /** The test reads the counters in Redis, not the results of the limiter. */
  const remaining = async (asked: Rule | ConcurrencyRule) => {
    const peeked = await limiter.peek(asked, 'ann', { cost: 0 });
    return peeked.source === 'redis' ? peeked.remaining : undefined;
  };

  /** Redis decides, unless this machine is too busy for its deadline. */
  async function take<Taken extends { allowed: boolean }>(ask: () => Promise<Taken>): Promise<Taken> {
    let taken = await ask();
    await until(async () => taken.allowed || (taken = await ask()).allowed, 'Redis to decide', 30_000);
    return taken;
  }

  it('a refund is made while memory is full, and an additional cost is charged when it has room again', async () => {
    const decision = await take(() => limiter.consume(rule, 'ann', { cost: 7 }));
    const reservation = await take(() => limiter.reserve(rule, 'ann', { cost: 1 }));
    const before = (await remaining(rule)) ?? 492;
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', '1');
    expect(await limiter.refund(decision)).toBe(true);
    await reservation.settle(21);
    await askServer(server, 'CONFIG', 'SET', 'maxmemory', '0');
    await until(async () => (await remaining(rule)) === before + 7 - 20, 'both to be made', 30_000);
  });

  it('a refund and an additional cost are charged when a hanging server recovers', async () => {
    const decision = await take(() => limiter.consume(rule, 'ann', { cost: 7 }));
    const reservation = await take(() => limiter.reserve(rule, 'ann', { cost: 1 }));
    const permit = await take(() => limiter.hold(lease, 'ann'));
    const before = (await remaining(rule)) ?? 492;
    await server.pause();
    await until(
      async () => {
        await limiter.peek(rule, 'ann');
        return limiter.events.openCircuits.size > 0;
      },
      'the breaker to open',
      30_000,
    );
    expect(await limiter.refund(decision)).toBe(false);
    await reservation.settle(21);
    await permit.release();
    await server.resume();
    await until(async () => (await remaining(rule)) === before + 7 - 20, 'both to be made', 30_000);
    await until(async () => (await remaining(lease)) === 2, 'the lease to be released', 30_000);
  });
});
