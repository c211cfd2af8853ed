import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const HOUR = 3600e3;
const reports: ConcurrencyRule = { name: 'reports', algorithm: 'concurrency', limit: 1 };
const batches: Rule = { name: 'batches', window: '1h', limit: 1 };

describe('requests that wait when Redis stops', () => {
  let server: RedisServer;
  const opened: { close: () => Promise<void> }[] = [];

  beforeEach(async () => {
    server = await startRedisServer();
  });
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    await server.stop();
  });

  function open(onStoreError: 'local' | 'allow' | 'deny', prefix = uniquePrefix()) {
    const store = new RedisStore({ timeout: 3000, redis: `redis://127.0.0.1:${server.port}` });
    const limiter = new RateLimiter({ store, prefix, onStoreError });
    opened.push(limiter, store);
    return limiter;
  }

  it('get the permits of the share of their process, one after the other', async () => {
    const prefix = uniquePrefix();
    const [holder, limiter] = [open('local', prefix), open('local', prefix)];
    await holder.hold(reports, 'ann');
    const waiting = [1, 2].map(() => limiter.hold(reports, 'ann', { maxWait: `${HOUR}ms` }));
    const served: number[] = [];
    waiting.forEach((each, nth) => void each.then(() => served.push(nth)));
    await until(
      async () => (await limiter.peek(reports, 'ann', { cost: 0 })).remaining === 0,
      'the holds to wait',
    );
    await server.stop();
    await until(() => served.length === 1, 'the first hold to get the share');
    const first = await waiting[served[0]!]!;
    expect(first).toMatchObject({ allowed: true, decision: { source: 'fallback' } });
    await first.release();
    await until(() => served.length === 2, 'the second hold to get the share');
    expect(await waiting[served[1]!]!).toMatchObject({ allowed: true, decision: { source: 'fallback' } });
  });

  it.each(['allow', 'deny'] as const)('holds end at once with the fallback %s', async (onStoreError) => {
    const limiter = open(onStoreError);
    await limiter.hold(reports, 'ann');
    const hold = limiter.hold(reports, 'ann', { maxWait: `${HOUR}ms` });
    await until(async () => !(await limiter.peek(reports, 'ann')).allowed, 'the hold to wait');
    await server.stop();
    expect((await hold).allowed).toBe(onStoreError === 'allow');
  });

  it.each(['local', 'allow'] as const)('acquire proceeds with the fallback %s', async (onStoreError) => {
    const limiter = open(onStoreError);
    await limiter.consume(batches, 'ann');
    const acquire = limiter.acquire(batches, 'ann', { maxWait: `${2 * HOUR}ms` });
    await limiter.peek(batches, 'ann');
    await server.stop();
    expect(await acquire).toMatchObject({ allowed: true, source: 'fallback' });
  });

  it('acquire keeps waiting with the fallback deny, and an abort ends it', async () => {
    const limiter = open('deny');
    await limiter.consume(batches, 'ann');
    const abort = new AbortController();
    const settings = { maxWait: `${2 * HOUR}ms` as const, signal: abort.signal };
    const [first, second] = ['ann', 'bob'].map((name) => limiter.acquire(batches, name, settings));
    expect(await second).toMatchObject({ allowed: true });
    await server.stop();
    await until(async () => (await limiter.consume(batches, 'ann')).source === 'fallback', 'the fallback');
    abort.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
  });

  it('leave the queue when they are aborted while Redis stops', async () => {
    const limiter = open('local');
    const held = await limiter.hold(reports, 'ann');
    const abort = new AbortController();
    const hold = limiter.hold(reports, 'ann', { maxWait: `${HOUR}ms`, signal: abort.signal });
    const left = expect(hold).rejects.toThrow('gone');
    await until(async () => !(await limiter.peek(reports, 'ann')).allowed, 'the hold to wait');
    abort.abort(new Error('gone'));
    await server.stop();
    await left;
    await held.release();
  });
});
