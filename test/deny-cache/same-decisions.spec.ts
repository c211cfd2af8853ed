import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Decision, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { EVERY_RULE } from '../contract/every-rule.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { VirtualTime } from '../support/virtual-store.js';

/** The next event: after a number of milliseconds, an operation of one of two limiters on the store. */
const steps = fc.array(
  fc.record({
    after: fc.constantFrom(0, 0, 0, 0, 1, 20, 300, 999, 1000, 2000, 7777),
    by: fc.nat(1),
    does: fc.constantFrom(...Array<'consume'>(12).fill('consume'), 'refund', 'reset', 'block'),
    cost: fc.constantFrom(1, 1, 1, 2, 5, 100),
  }),
  { minLength: 40, maxLength: 80 },
);

const BLOCKS = ['manual', '700ms', '5s', '30s', '1m'] as const;

const PLAIN = ['allowed', 'rule', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs', 'delayMs'] as const;

describe('decisions of a deny cache', () => {
  const time = new VirtualTime();
  let store: RedisStore;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
  });
  afterAll(() => store.close());

  const pair = (denyCache: boolean) => {
    const options = { store, prefix: uniquePrefix(), onStoreError: 'deny', denyCache } as const;
    return [new RateLimiter(options), new RateLimiter(options)];
  };

  /** Both caches are subscribed to changes. */
  async function warmUp(limiters: readonly RateLimiter[]): Promise<void> {
    const full: Rule = { name: 'full', algorithm: 'gcra', limit: 1, window: '1h' };
    await limiters[0]!.consume(full, 'warm-up');
    for (const limiter of limiters) {
      const isCached = async () => (await limiter.consume(full, 'warm-up')).source === 'cache';
      await until(isCached, 'the cache to answer');
    }
  }

  it('a denial inside a block is cached, and the first denial after it begins the next block', async () => {
    const rule: Rule = { name: 'login', algorithm: 'fixed-window', limit: 1, window: '1s', block: '700ms' };
    const limiters = pair(true);
    await warmUp(limiters);
    time.advance(1000 - (time.now % 1000));
    const decisions: unknown[] = [];
    for (const after of [0, 1, 300, 399, 1, 299, 401]) {
      time.advance(after);
      const { allowed, retryAfterMs, source } = await limiters[0]!.consume(rule, 'ann');
      decisions.push([allowed, retryAfterMs, source]);
    }
    expect(decisions).toEqual([
      [true, 0, 'redis'],
      [false, 999, 'redis'], // begins the first block
      [false, 699, 'cache'],
      [false, 300, 'cache'],
      [false, 700, 'redis'], // begins the second block
      [false, 401, 'cache'], // the window has ended
      [true, 0, 'redis'],
    ]);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });

  const BLOCKABLE = EVERY_RULE.map((rule, nth) => ({ ...rule, block: BLOCKS[nth % BLOCKS.length]! }));

  it.each(BLOCKABLE)(
    'decisions are the same with and without the deny cache: $algorithm ($name), block $block',
    async (blockable) => {
      let cached = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (timeline) => {
          const [known, asked] = [pair(true), pair(false)];
          await warmUp(known);
          const last: [Decision | undefined, Decision | undefined] = [undefined, undefined];
          for (const { after, by, does, cost } of timeline) {
            time.advance(after);
            for (const [side, limiter] of [known[by]!, asked[by]!].entries()) {
              if (does === 'reset') await limiter.reset(blockable, 'ann');
              else if (does === 'block') await limiter.block(blockable, 'ann', '5s');
              else if (does === 'refund' && last[side]) await limiter.refund(last[side]);
              else if (does === 'consume') last[side] = await limiter.consume(blockable, 'ann', { cost });
            }
            if (does !== 'consume') continue;
            const [withCache, without] = last as [Decision, Decision];
            const differing = PLAIN.filter((field) => withCache[field] !== without[field]);
            if (differing.length > 0) throw new Error(`${differing.join()}: ${JSON.stringify(last)}`);
            if (withCache.source === 'cache') cached += 1;
          }
          await Promise.all([...known, ...asked].map((limiter) => limiter.close()));
        }),
        { numRuns: 25 },
      );
      expect(cached).toBeGreaterThan(0);
    },
    600_000, // A test that has timed out would continue and advance the clock of the next one.
  );
});
