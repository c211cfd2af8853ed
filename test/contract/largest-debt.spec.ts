import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore, type Rule } from '../../lib/index.js';
import type { RedisStore } from '../../lib/redis.js';
import { counterOf } from '../parity/counter-of.js';
import { compiles, examplesFor } from '../support/examples.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const YEAR = 365 * 86_400e6;

const LONGEST_WINDOW_MS = 366 * 86_400_000;

/** Every example of an algorithm with debt, with the limits that lead to the largest numbers. */
const rules: fc.Arbitrary<Rule> = fc
  .tuple(
    fc.constantFrom(1, 7000, 3_600_000, LONGEST_WINDOW_MS),
    fc.constantFrom(1, 3, 7, 9_999, 94_000_000),
    fc.nat(),
  )
  .map(([windowMs, limit, nth]) => {
    const examples = examplesFor({ limit, windowMs }).filter(({ definition }) => !definition.leases);
    return examples[nth % examples.length]!.rule as Rule;
  })
  .filter(compiles);

describe('debt, however large', () => {
  const time = new VirtualTime();
  let lua: RedisStore;
  let reference: MemoryStore;

  beforeAll(async () => {
    lua = await openRedisStore({ clock: time.clock });
    reference = new MemoryStore({ clock: time.clock });
  });

  afterAll(async () => {
    await lua.close();
    await reference.close();
  });

  it('debt from repeatedly settling a billion permits is never lost and is the same in both stores', async () => {
    const costs = fc.array(fc.oneof(fc.constant(1e9), fc.integer({ min: 1, max: 1e9 })), {
      minLength: 3,
      maxLength: 12,
    });
    const gaps = fc.constantFrom(0, 1, 3_600_000, 86_400_000);
    await fc.assert(
      fc.asyncProperty(rules, costs, gaps, async (rule, owed, gap) => {
        time.now = 1_700_000_040_000;
        const key = `${uniquePrefix()}{ann}:debt`;
        const ask = async (cost: number, maxWait: number) => {
          const hit = { ...counterOf(key, rule, time.now * 1000), cost };
          const said = await lua.decide([hit], { maxWait });
          const expected = reference.decide([hit], { maxWait });
          const figures = ([result]: typeof said) => {
            const { allowed, remaining, retryAfter, resetAfter, delay } = result!;
            return { allowed, remaining, retryAfter, resetAfter, delay };
          };
          expect(figures(said)).toEqual(figures(expected));
          return figures(said);
        };
        for (const cost of owed) {
          const { allowed, resetAfter } = await ask(cost, Infinity);
          expect(allowed).toBe(true);
          expect(Number.isSafeInteger(resetAfter)).toBe(true);
          expect(resetAfter).toBeLessThanOrEqual(75 * YEAR);
          time.advance(gap === 1 ? 0.001 : gap);
        }
        const peek = await ask(1, 0);
        // The debt that the largest limits repay within one second may be repaid.
        const isLongest = rule.window === `${LONGEST_WINDOW_MS}ms`;
        if (isLongest && rule.limit < 10_000) expect(peek.allowed).toBe(false);
        await Promise.all(
          [lua, reference].map((store) => store.reset([counterOf(key, rule, time.now * 1000)])),
        );
      }),
      { seed: 7, numRuns: 400, endOnFailure: true },
    );
  }, 120_000);
});
