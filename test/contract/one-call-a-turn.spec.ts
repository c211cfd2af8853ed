import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { recordCommands } from '../support/redis/record-commands.js';
import { luaCalls } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { openRedisStore } from '../support/redis-store.js';
import { EVERY_RULE } from './every-rule.js';

const gcra = { name: 'calls', algorithm: 'gcra', limit: 50, window: '1h' } as const satisfies Rule;

describe('requests of one turn of the event loop', () => {
  let server: RedisServer;
  let store: RedisStore;
  let limiter: RateLimiter;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
    store = await openRedisStore({ redis: server.url });
    limiter = new RateLimiter({ store, onStoreError: 'deny', denyCache: false });
    await Promise.all(EVERY_RULE.map((rule) => limiter.peek(rule, 'nobody'))); // The scripts are loaded by now.
    await limiter.peek(gcra, 'nobody');
  });

  afterAll(async () => {
    await store.close();
    redis.disconnect();
    await server.stop();
  });

  const callsOf = async (act: () => Promise<unknown>) =>
    luaCalls(await recordCommands(server.url, act)).length;

  it('up to 32 requests of one turn of the event loop go to Redis as one call', async () => {
    const ask = () => Promise.all(Array.from({ length: 32 }, (_, n) => limiter.consume(gcra, `user ${n}`)));
    expect(await callsOf(ask)).toBe(1);
  });

  it('requests that later callbacks of the turn make share the call, also when none is under way', async () => {
    const ask = async () => {
      const first = limiter.consume(gcra, 'at once');
      const later = new Promise((resolve) =>
        process.nextTick(() => process.nextTick(() => resolve(limiter.consume(gcra, 'later')))),
      );
      await Promise.all([first, later]);
    };
    expect(await callsOf(ask)).toBe(1);
  });

  it('more requests go as two calls, so that Redis decides the second while the process reads the first', async () => {
    const ask = () => Promise.all(Array.from({ length: 64 }, (_, n) => limiter.consume(gcra, `both ${n}`)));
    expect(await callsOf(ask)).toBe(2);
  });

  it('a large number of requests in one turn is sent as several calls that each occupy Redis briefly', async () => {
    const ask = () => Promise.all(Array.from({ length: 950 }, (_, n) => limiter.consume(gcra, `many ${n}`)));
    expect(await callsOf(ask)).toBe(11); // Two of 32, and the others of up to 100.
  });

  it('a reservation of four rules is one call, its settlement another, and a second settlement none', async () => {
    const rules = [
      { ...gcra, name: 'tokens' },
      { name: 'requests', algorithm: 'sliding-window-log', limit: 50, window: '1m' },
      { name: 'month', algorithm: 'fixed-window', limit: 500, window: 'month' },
      { name: 'streams', algorithm: 'concurrency', limit: 3 },
    ] as const satisfies AnyRule[];
    const reserve = () => limiter.reserve(rules, 'ann', { cost: { tokens: 20 } });
    await (await reserve()).cancel(); // What holds permits is loaded by now.
    let budget: Awaited<ReturnType<typeof reserve>> | undefined;
    expect(await callsOf(async () => (budget = await reserve()))).toBe(1);
    const settle = async () => budget?.settle({ tokens: 5, requests: 0, month: 9 });
    expect(await callsOf(settle)).toBe(1);
    expect(await callsOf(settle)).toBe(0);
  });

  it('requests of one turn for one key are allowed exactly up to the limit', async () => {
    const decisions = await Promise.all(Array.from({ length: 80 }, () => limiter.consume(gcra, 'hot')));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    expect(decisions.slice(0, 50).map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 50 }, (_, n) => 49 - n),
    );
  });

  it('a request fails alone if its key holds a value of another type', async () => {
    const log: Rule = { ...gcra, name: 'log', algorithm: 'sliding-window-log' };
    await redis.set('rl:{broken}:log:sliding-window-log2/3600000', 'not a list');
    const subjects = ['before', 'broken', 'after'];
    const decisions = await Promise.all(subjects.map((subject) => limiter.consume(log, subject)));
    expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'redis'],
      [false, 'fallback'],
      [true, 'redis'],
    ]);
  });

  it('requests are processed before a reset or refund that is issued later', async () => {
    const consumed = limiter.consume(gcra, 'ordered', { cost: 30 });
    const reset = limiter.reset(gcra, 'ordered');
    const after = limiter.consume(gcra, 'ordered', { cost: 50 });
    await Promise.all([consumed, reset]);
    expect(await after).toMatchObject({ allowed: true, remaining: 0 });
  });
});
