import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BreakerEvent, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { Load } from '../cluster/load.js';
import { startSentinel, type SentinelGroup } from '../support/redis/sentinel.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const rule: Rule = { limit: 100_000, window: '1w', algorithm: 'fixed-window' };

describe('a master that its sentinels replace', () => {
  let group: SentinelGroup;
  let store: RedisStore;
  let limiter: RateLimiter;
  const changes: BreakerEvent[] = [];
  const rejections: unknown[] = [];
  const noteRejection = (reason: unknown) => rejections.push(reason);

  beforeAll(async () => {
    process.on('unhandledRejection', noteRejection);
    group = await startSentinel();
    store = new RedisStore({ redis: group.options, timeout: 1000 });
    limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    limiter.events.on('breaker', (change) => changes.push(change));
  });

  afterAll(async () => {
    await store.close();
    await group.close();
    process.off('unhandledRejection', noteRejection);
  });

  const ask = () => limiter.consume(rule, 'ann');

  it('the fallback decides during a failover until Redis decides again', async () => {
    const load = new Load([ask, ask, ask, ask]);
    await until(() => load.admittedBy('redis') > 200, 'Redis to decide');
    const old = await group.killMaster();
    const killedAt = performance.now();
    await until(() => load.answersOf('fallback') > 100, 'the fallback to decide');
    const before = load.admittedBy('redis');
    await group.untilReplaced(old);
    const replacedAt = performance.now();
    await until(() => load.admittedBy('redis') > before, 'the new master to decide', 30_000);
    const healedAt = performance.now();
    await load.stop();

    const charged = rule.limit - (await limiter.peek(rule, 'ann', { cost: 0 })).remaining;
    const seconds = (from: number, to: number) => `${((to - from) / 1000).toFixed(1)} s`;
    process.stderr.write(
      `sentinel failover: a new master after ${seconds(killedAt, replacedAt)}, ` +
        `decisions by Redis again ${seconds(replacedAt, healedAt)} after that; ` +
        `${load.answersOf('fallback')} by the fallback meanwhile; ` +
        `${load.admittedBy('redis') - charged} of ${load.admittedBy('redis')} charges lost\n`,
    );
    expect(changes.map(({ state, server }) => [state, server])).toEqual([
      ['open', ''],
      ['closed', ''],
    ]);
    expect(load.denied).toEqual(new Map());
    expect(rejections).toEqual([]);
  });
});
