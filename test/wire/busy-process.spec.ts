import { expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { startProxy } from '../support/redis/proxy.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';

const TIMEOUT_MS = 1000;
const REQUESTS = 10;

/** Keeps the event loop from running for longer than the deadline of calls that are under way. */
function beBusy(): void {
  const end = performance.now() + 1.5 * TIMEOUT_MS;
  while (performance.now() < end);
}

const RULE: Rule = { name: 'login', algorithm: 'gcra', window: '1d', limit: 15 };

// A deadline that ended while the process was busy would leave requests to the fallback, which allows as many again.
it.each([
  { what: 'the server has lost the library of functions', rule: RULE, loses: true },
  { what: 'permits are prefetched', rule: { ...RULE, prefetch: { permits: 10 } } as Rule, loses: false },
])('a process that is busy while $what allows no more than the limit', async ({ rule, loses }) => {
  const server = await startRedisServer();
  const proxy = await startProxy(server);
  const store = new RedisStore({ redis: proxy.url, timeout: TIMEOUT_MS, connectTimeout: 20_000 });
  const limiter = new RateLimiter({ store });
  const admin = new Redis(server.url);
  const consume = () => Promise.all(Array.from({ length: REQUESTS }, () => limiter.consume(rule, 'ann')));
  try {
    await untilPrefetching(limiter);
    const first = await consume();
    if (loses) await admin.call('FUNCTION', 'FLUSH');
    proxy.each((connection) => connection.delay(TIMEOUT_MS / 10));
    const coming = consume();
    await setImmediate();
    beBusy();
    const decisions = [...first, ...(await coming)];
    expect(decisions.filter(({ source }) => source === 'fallback')).toEqual([]);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(15);
  } finally {
    admin.disconnect();
    await limiter.close();
    await store.close();
    await proxy.close();
    await server.stop();
  }
});
