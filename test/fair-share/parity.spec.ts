import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Decision, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { STILL_REAL } from '../contract/still-real.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

/** The rule in processes of which some have not learned of a change. */
const versions = fc.record({
  limit: fc.integer({ min: 0, max: 40 }),
  window: fc.constantFrom('1s', '7s', '1m'),
  burst: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
  weights: fc.dictionary(
    fc.constantFrom('tenant 0', 'tenant 1', 'tenant 2'),
    fc.integer({ min: 1, max: 1000 }),
  ),
  weight: fc.integer({ min: 1, max: 5 }),
});

const steps = fc.array(
  fc.record({
    version: fc.nat(3).map((drawn) => (drawn === 3 ? 1 : 0)),
    tenant: fc.nat(6),
    does: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'settle', 'reset'),
    cost: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 50 })),
    /** Microseconds. */
    after: fc.oneof(fc.constant(0), fc.integer({ min: -5, max: 3e6 }), fc.constantFrom(1e6, 7e6, 70e6)),
    isRetry: fc.boolean(),
  }),
  { minLength: 30, maxLength: 120, size: 'max' },
);

describe('fair shares in Redis and in memory', () => {
  const time = new VirtualTime();
  let redis: RedisStore;
  let memory: MemoryStore;

  beforeAll(async () => {
    jest.useFakeTimers({ doNotFake: [...STILL_REAL] });
    redis = await openRedisStore({ clock: time.clock });
    memory = new MemoryStore({ clock: time.clock });
  });
  afterAll(async () => {
    await redis.close();
    await memory.close();
  });

  it('both decide, refund, settle, reset and report parts alike for random tenants, weights, costs and changes', async () => {
    const tally = { allowed: 0, denied: 0, refunded: 0, reset: 0, borrowed: 0 };
    await fc.assert(
      fc.asyncProperty(fc.tuple(versions, versions), steps, async (drawn, timeline) => {
        const prefix = uniquePrefix();
        const limiters = [redis, memory].map((store) => new RateLimiter({ store, prefix, denyCache: false }));
        const rules = drawn.map(({ limit, window, burst, ...share }): Rule => {
          return { name: 'api', algorithm: 'gcra', limit, window, ...(burst && { burst }), share };
        });
        let last: readonly Decision[] | undefined;
        for (const { version, tenant, does, cost, after, isRetry } of timeline) {
          const wait = last?.[0]!.retryAfterMs;
          time.now += isRetry && wait ? wait : after / 1000;
          const [rule, subject] = [rules[version]!, `tenant ${tenant}`];
          const both = async <Result>(act: (limiter: RateLimiter, index: number) => Promise<Result>) => {
            const [one, other] = [await act(limiters[0]!, 0), await act(limiters[1]!, 1)];
            expect(one).toEqual(other);
            return [one, other] as const;
          };
          const told = (decision: Decision) => ({ ...decision, source: undefined, decisions: undefined });
          if (does === 'refund') {
            const decisions = last;
            if (!decisions) continue;
            const [refunded] = await both((limiter, index) => limiter.refund(decisions[index]!));
            if (refunded) tally.refunded++;
            last = undefined;
          } else if (does === 'reset') {
            const [cleared] = await both((limiter) => limiter.reset(rule, subject));
            if (cleared) tally.reset++;
          } else if (does === 'settle') {
            await both(async (limiter) => {
              const reservation = await limiter.reserve(rule, subject, { cost: Math.min(1, rule.limit) });
              await reservation.settle(cost);
              return reservation.allowed;
            });
          } else {
            const kept: Decision[] = [];
            await both(async (limiter) => {
              const decision = await limiter[does](rule, subject, { cost });
              kept.push(decision);
              return told(decision);
            });
            if (does === 'consume') last = kept;
            tally[kept[0]!.allowed ? 'allowed' : 'denied']++;
            if (kept[0]!.share?.borrowed) tally.borrowed++;
          }
        }
        for (const limiter of limiters) await limiter.close();
      }),
      { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 120, endOnFailure: true },
    );
    expect(Math.min(...Object.values(tally))).toBeGreaterThan(100);
  }, 240_000);
});
