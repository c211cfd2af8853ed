import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { prefetching, rulesAtOnce } from '../support/examples.js';
import { Herd } from './herd.js';

const PROCESSES = 4;
const EACH = { hits: 300, inFlight: 50 };

// A permit becomes available again after 20 minutes, so none does during the test.
const quota = { limit: 500, windowMs: 604_800_000 };
const rules = rulesAtOnce(quota).filter(({ window }) => window.endsWith('ms'));

const prefetch = { permits: 20, ttl: '1m' } as const;

describe(`${PROCESSES} concurrent processes with ${EACH.inFlight} requests in flight each`, () => {
  let herd: Herd;

  beforeAll(() => {
    herd = new Herd(PROCESSES);
  });

  afterAll(() => herd.stop());

  it.each(rules)('concurrent processes are allowed exactly 500 requests by $name', async (rule) => {
    const counts = await herd.run({
      ...EACH,
      url: redisUrl(),
      prefix: uniquePrefix(),
      rules: [rule],
    });
    expect(sum(counts)).toBe(500);
  });

  it.each(prefetching(rules, prefetch))(
    'concurrent processes with prefetch never exceed 500 requests by $name, and refund unused permits',
    async (rule) => {
      const prefix = uniquePrefix();
      const counts = await herd.run({ ...EACH, url: redisUrl(), prefix, rules: [rule] });
      expect(sum(counts)).toBeLessThanOrEqual(500);
      expect(sum(counts)).toBeGreaterThan(500 - PROCESSES * prefetch.permits);
    },
  );

  it('at most 7 requests hold a permit of a concurrency limit of 7, and every waiting request gets one', async () => {
    const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 7, lease: '1m' };
    const prefix = uniquePrefix();
    const most = await herd.hold({ ...EACH, url: redisUrl(), prefix, rules: [rule] });
    expect(Math.max(...most)).toBe(7);
    const store = await openRedisStore();
    const { remaining } = await new RateLimiter({ store, prefix }).peek(rule, 'everyone', { cost: 0 });
    await store.close();
    expect(remaining).toBe(7);
  });

  it('concurrent processes are allowed exactly as many requests as the strictest of three rules permits', async () => {
    const rules: Rule[] = [
      { name: 'bucket', algorithm: 'token-bucket', window: '1w', limit: 700 },
      { name: 'log', algorithm: 'sliding-window-log', window: '1w', limit: 500 },
      { name: 'fixed', algorithm: 'fixed-window', window: '1w', limit: 900 },
    ];
    const prefix = uniquePrefix();
    const counts = await herd.run({ ...EACH, url: redisUrl(), prefix, rules });
    expect(sum(counts)).toBe(500);
    const store = await openRedisStore();
    const { decisions } = await new RateLimiter({ store, prefix }).peek(rules, 'everyone', { cost: 0 });
    await store.close();
    expect(decisions.map(({ rule, remaining }) => [rule, remaining])).toEqual([
      ['bucket', 200],
      ['log', 0],
      ['fixed', 400],
    ]);
  });
});

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
