import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { EVERY_RULE, everyRule } from '../contract/every-rule.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

/** Twice the limits of `EVERY_RULE`, in the same order. */
const HIGHER = everyRule({ limit: 10, windowMs: 10_000 });

const END = 'end';

/** The changes that Redis publishes for the counters of one prefix. */
class Published {
  private readonly subscriber = new Redis(redisUrl());
  private readonly publisher = new Redis(redisUrl());
  private readonly messages: string[] = [];

  constructor(private readonly prefix: string) {
    this.subscriber.on('message', (_channel, message) => this.messages.push(message));
  }

  async begin(): Promise<void> {
    await this.subscriber.subscribe(`${this.prefix}changes`);
  }

  /** Returns the keys that were published since the last call, without the trials of processes that subscribe. */
  async take(): Promise<string[]> {
    await this.publisher.publish(`${this.prefix}changes`, END);
    await until(async () => this.messages.includes(END), 'the messages to arrive');
    return this.messages.splice(0).filter((message) => message !== END && message !== '');
  }

  close(): void {
    this.subscriber.disconnect();
    this.publisher.disconnect();
  }
}

// The clock of these stores stands still: a cached denial is valid until a change is reported.
describe('the changes that are published', () => {
  const time = new VirtualTime();
  let stores: RedisStore[];
  let here: RateLimiter;
  let there: RateLimiter;
  let published: Published;

  beforeAll(async () => {
    stores = [await openRedisStore({ clock: time.clock }), await openRedisStore({ clock: time.clock })];
  });

  beforeEach(async () => {
    const prefix = uniquePrefix();
    [here, there] = stores.map((store) => new RateLimiter({ store, prefix })) as [RateLimiter, RateLimiter];
    published = new Published(prefix);
    await published.begin();
    await subscribe(here);
  });

  afterEach(async () => {
    published.close();
    await Promise.all([here, there].map((limiter) => limiter.close()));
  });

  afterAll(() => Promise.all(stores.map((store) => store.close())));

  /** Lets a process subscribe to changes: it has denied a request of another subject. */
  async function subscribe(limiter: RateLimiter): Promise<void> {
    const full: Rule = { name: 'full', algorithm: 'gcra', limit: 1, window: '1h' };
    await limiter.consume(full, 'bob');
    await untilCached(limiter, full, 'bob');
    await published.take();
  }

  async function untilCached(limiter: RateLimiter, rule: Rule, subject = 'ann'): Promise<void> {
    const isCached = async () => (await limiter.consume(rule, subject)).source === 'cache';
    await until(isCached, 'a denial from the cache');
  }

  async function untilAllowed(limiter: RateLimiter, rule: Rule): Promise<void> {
    await until(async () => (await limiter.consume(rule, 'ann')).allowed, 'the refund to arrive');
  }

  it.each(EVERY_RULE)(
    'a refund is published to no process while the counter denies nobody: $algorithm ($name)',
    async (rule) => {
      for (const cost of [1, 2, 2]) {
        const decision = await there.consume(rule, 'ann', { cost });
        expect([decision.source, await there.refund(decision)]).toEqual(['redis', true]);
      }
      expect(await published.take()).toEqual([]);
    },
  );

  it.each(EVERY_RULE)(
    'a refund after a denial that a process caches is published once: $algorithm ($name)',
    async (rule) => {
      const decisions = [await there.consume(rule, 'ann', { cost: 4 }), await there.consume(rule, 'ann')];
      await untilCached(here, rule);
      for (const decision of decisions.reverse()) expect(await there.refund(decision)).toBe(true);
      expect(await published.take()).toEqual([expect.stringContaining('{ann}')]);
      await untilAllowed(here, rule);
    },
  );

  // An explicit queue of another length has other counters.
  const HIGHER_ON_ONE_COUNTER = EVERY_RULE.map((rule, nth) => ({
    name: rule.name,
    rule,
    higher: HIGHER[nth]!,
  })).filter(({ rule, higher }) => compileRule(rule).stateName === compileRule(higher).stateName);

  it.each(HIGHER_ON_ONE_COUNTER)(
    'a process with a lower limit allows requests after a process with a higher limit refunds: $name',
    async ({ rule, higher }) => {
      const decisions = [
        await there.consume(higher, 'ann', { cost: 4 }),
        await there.consume(higher, 'ann', { cost: 5 }),
      ];
      await untilCached(here, rule);
      // The higher limit denies nobody.
      expect(await there.peek(higher, 'ann', { cost: 0 })).toMatchObject({ allowed: true, remaining: 1 });
      for (const decision of decisions.reverse()) await there.refund(decision);
      await untilAllowed(here, rule);
    },
  );

  it('a refund of one tenant is published when a process has cached the denial of another tenant', async () => {
    const rule: Rule = { algorithm: 'gcra', limit: 4, window: '1h', share: {} };
    const decision = await there.consume(rule, 'ann', { cost: 4 });
    await untilCached(here, rule, 'carl');
    expect(await there.refund(decision)).toBe(true);
    expect(await published.take()).toHaveLength(1);
  });

  it('a process denies a cost above the remaining permits from Redis, so that a lower cost is allowed', async () => {
    const rule: Rule = { algorithm: 'sliding-window-log', limit: 100, window: '1h' };
    await there.consume(rule, 'ann', { cost: 95 });
    for (const remaining of [5, 5, 5]) {
      const decision = await here.consume(rule, 'ann', { cost: 10 });
      expect(decision).toMatchObject({ allowed: false, source: 'redis', remaining });
    }
    expect(await here.consume(rule, 'ann')).toMatchObject({ allowed: true, remaining: 4 });
  });

  it('a refund is published to no process after denials that no process caches', async () => {
    const rule: Rule = { algorithm: 'gcra', limit: 5, window: '1h' };
    const decision = await there.consume(rule, 'ann', { cost: 5 });
    await here.consume(rule, 'ann', { cost: 2 });
    await here.consume({ ...rule, name: 'other', mode: 'shadow' }, 'ann', { cost: 6 });
    await here.acquire(rule, 'ann', { maxWait: '0s' });
    await here.peek(rule, 'ann');
    await there.refund(decision);
    expect(await published.take()).toEqual([]);
  });
});
