import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';

const QUOTA: Rule = { name: 'quota', algorithm: 'fixed-window', limit: 100, window: '1d' };
const LOGIN: Rule = { name: 'login', algorithm: 'gcra', limit: 100, window: '1h' };
const REGULARS = Array.from({ length: 100 }, (_, nth) => `regular-${nth}`);
const ADDRESSES = Array.from({ length: 20_000 }, (_, nth) => `address-${nth}`);

// The settings in docs/operations.md keep the limits that matter when the server is full.
describe('a Redis whose memory is full', () => {
  let server: RedisServer;
  let store: RedisStore;

  const start = async (policy: string) => {
    await askServer(server, 'CONFIG', 'SET', 'maxmemory-policy', policy);
    store = await openRedisStore({ redis: server.url });
    return new RateLimiter({ store, denyCache: false });
  };

  /** Uses up limits, and then sends requests of more addresses than the memory has room for. */
  async function flood(limiter: RateLimiter) {
    for (const rule of [QUOTA, LOGIN]) {
      await Promise.all(REGULARS.map((name) => limiter.consume(rule, name, { cost: 100 })));
    }
    const sources = new Set<string>();
    for (let first = 0; first < ADDRESSES.length; first += 500) {
      const hits = ADDRESSES.slice(first, first + 500).map((name) => limiter.consume(LOGIN, name));
      for (const { source } of await Promise.all(hits)) sources.add(source);
    }
    return [...sources].sort();
  }

  /** Returns how many limits are still used up, as seen by a process without a deny cache. */
  async function usedUp(): Promise<number> {
    const other = await openRedisStore({ redis: server.url });
    const limiter = new RateLimiter({ store: other });
    const peeks = [QUOTA, LOGIN].flatMap((rule) => REGULARS.map((name) => limiter.peek(rule, name)));
    const decisions = await Promise.all(peeks);
    await other.close();
    return decisions.filter(({ allowed, source }) => !allowed && source === 'redis').length;
  }

  beforeEach(async () => {
    server = await startRedisServer({ config: ['maxmemory 3mb'] });
  });
  afterEach(async () => {
    await store.close();
    await server.stop();
  });

  it('volatile-ttl evicts the counters that expire soonest, and Redis continues to decide', async () => {
    const limiter = await start('volatile-ttl');
    expect(await flood(limiter)).toEqual(['redis']);
    expect(await usedUp()).toBe(2 * REGULARS.length);
    expect(await askServer(server, 'DBSIZE')).toBeLessThan(ADDRESSES.length);
  });

  it('noeviction keeps all counters, and the fallback decides requests that Redis cannot charge', async () => {
    const limiter = await start('noeviction');
    const errors = new Set<string>();
    limiter.events.on('storeError', ({ error }) => errors.add(String(error)));
    expect(await flood(limiter)).toEqual(['fallback', 'redis']);
    expect([...errors]).toEqual([
      expect.stringMatching(/^StoreFault: Redis at \S+ is out of memory \(OOM\)$/),
    ]);
    expect(await usedUp()).toBe(2 * REGULARS.length);
  });

  it('noeviction keeps denying a subject that cannot be blocked any more', async () => {
    const limiter = await start('noeviction');
    const blocking: Rule = { ...LOGIN, name: 'blocking', block: '1h' };
    await limiter.consume(blocking, 'ann', { cost: 100 });
    await flood(limiter);
    const other = await openRedisStore({ redis: server.url }); // A limiter whose circuit breaker is closed.
    const decision = await new RateLimiter({ store: other }).consume(blocking, 'ann');
    await other.close();
    expect([decision.allowed, decision.source]).toEqual([false, 'redis']);
  });
});
