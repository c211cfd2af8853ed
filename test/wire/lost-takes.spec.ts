import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { plainRules, prefetching } from '../support/examples.js';
import { startProxy, type Proxy } from '../support/redis/proxy.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { untilPrefetching } from '../support/until-prefetching.js';

const LIMIT = 1000;
const PERMITS = 50;
const PATIENCE_MS = 60_000;

const rules = prefetching(plainRules({ limit: LIMIT, windowMs: 604_800_000 }), {
  permits: PERMITS,
  ttl: '1d',
});

/** What is lost during a decision. */
type Event = 'reply' | 'request' | undefined;

const cuts = fc.constantFrom<Event>(undefined, 'reply', 'request');

describe('prefetched permits of a call on a closed connection', () => {
  let server: RedisServer;
  let proxy: Proxy;
  let store: RedisStore;
  let observingStore: RedisStore;
  let limiter: RateLimiter;
  let observer: RateLimiter;
  let prefix: string;

  beforeEach(async () => {
    server = await startRedisServer();
    proxy = await startProxy(server);
    prefix = uniquePrefix();
    store = new RedisStore({ redis: proxy.url });
    observingStore = new RedisStore({ redis: server.url, timeout: 20_000, connectTimeout: 20_000 });
    limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
    observer = new RateLimiter({ store: observingStore, prefix, onStoreError: 'deny' });
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    await observingStore.close();
    await proxy.close();
    await server.stop();
  });

  const charged = async (rule: Rule, subject: string): Promise<number> =>
    LIMIT - (await observer.peek(rule, subject, { cost: 0 })).remaining;
  const prefetches = (): Promise<unknown> => untilPrefetching(limiter, PATIENCE_MS);

  /** Prefetches permits; the server charges them, and its reply is lost. */
  async function loseTake(rule: Rule, subject: string): Promise<void> {
    await prefetches();
    proxy.each((connection) => connection.cutNextReply(0));
    await limiter.consume(rule, subject);
    proxy.each(() => undefined);
  }

  it.each(rules)(
    'prefetched permits of closed connections are refunded four times in a row: $name loses no permit of a thousand',
    async (rule) => {
      for (let nth = 0; nth < 4; nth += 1) await loseTake(rule, 'ann');
      const isFree = async (): Promise<boolean> => (await charged(rule, 'ann')) === 0;
      await until(isFree, 'every permit to be free', PATIENCE_MS);
      await prefetches();
      expect((await limiter.consume(rule, 'ann')).source).toBe('redis');
      expect(await charged(rule, 'ann')).toBeLessThanOrEqual(PERMITS);
    },
    2 * PATIENCE_MS,
  );

  it(
    'prefetched permits of a closed connection are refunded once, except those that were used',
    async () => {
      let nth = 0;
      const round = async (events: readonly Event[]): Promise<void> => {
        const [rule] = rules as [Rule];
        const subject = `subject-${++nth}`;
        const own = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
        let used = 0;
        await untilPrefetching(own, PATIENCE_MS);
        for (const cut of events) {
          if (cut) {
            await untilPrefetching(own, PATIENCE_MS);
            proxy.each((connection) =>
              cut === 'reply' ? connection.cutNextReply(0) : connection.cutNextRequest(),
            );
          }
          // 20 of 50 at a time, so that every third hit prefetches more, and refunds the rest.
          const { allowed } = await own.consume(rule, subject, { cost: 20 });
          if (allowed) used += 20;
          if (cut) proxy.each(() => undefined);
          expect(await charged(rule, subject)).toBeGreaterThanOrEqual(used);
        }
        await own.close();
        const isExact = async (): Promise<boolean> => (await charged(rule, subject)) === used;
        await until(isExact, 'what nobody holds to be given back', PATIENCE_MS);
      };
      await fc.assert(fc.asyncProperty(fc.array(cuts, { minLength: 1, maxLength: 8 }), round), {
        numRuns: 12,
      });
    },
    4 * PATIENCE_MS,
  );
});
