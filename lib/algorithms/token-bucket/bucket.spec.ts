import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { Rule } from '../../index.js';
import type { Quota } from '../definition.js';
import { tokenBucket, type TokenBucketOptions } from './token-bucket.js';
import '../registry.js';

const NOON = Date.UTC(2024, 0, 1, 12);
const DAY = 86_400e6;

const bucket = (rule: Quota & TokenBucketOptions) => new Reference(tokenBucket, rule);

describe('a token bucket that starts with 2 of 10 tokens, 1 per second', () => {
  const quota = { limit: 1, window: 1e6, burst: 10, initial: 2 } as const;

  it('allows a new subject its initial tokens, and the burst later', async () => {
    await expectTimeline(
      bucket(quota).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     2 | yes              0      0  10000
        999     1 | no               0      1   9001
       1000     1 | yes              0      0  10000
      11000    10 | yes              0      0  10000
      `,
    );
  });

  it('reports null to a new subject that requests more, since a denial creates no bucket', async () => {
    await expectTimeline(
      bucket(quota).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     3 | no               2  never   8000
       9000     3 | no               2  never   8000
       9000     1 | yes              1      0   9000
       9000     3 | no               1   2000   9000
      11000     3 | yes              0      0  10000
      `,
    );
  });

  it('lets a new subject wait for more with acquire', () => {
    const step = tokenBucket.step(undefined, NOON, 5, tokenBucket.compile(quota), 3e6);
    expect(step).toMatchObject({ allowed: true, delay: 3e6, resetAfter: 13e6 });
  });

  it('treats a subject as new one day after its bucket was full, whether or not the state still exists', async () => {
    const [kept, forgotten] = [bucket(quota), bucket(quota)];
    const { expiresAfter } = kept.hit(NOON * 1000, 2) as { expiresAfter: number };
    expect(expiresAfter).toBe(10e6 + DAY);
    expect(kept.peek(NOON * 1000 + expiresAfter - 1, 0).remaining).toBe(10);
    for (const cost of [0, 1, 2, 3, 11]) {
      const now = NOON * 1000 + expiresAfter;
      expect(kept.peek(now, cost)).toEqual(forgotten.peek(now, cost));
    }
  });

  it.each(['continuous', 'interval'] as const)(
    'refunds nothing to a new subject for charges from before, with the refill %s',
    (refill) => {
      const reference = bucket({ ...quota, refill });
      reference.hit(0, 1);
      expect(reference.refund(9e6 + DAY, 1, 9e6)).toBe(false);
    },
  );

  it('expires when it is full if new buckets are full', () => {
    expect(bucket({ ...quota, initial: 10 }).hit(NOON, 2)).toMatchObject({ expiresAfter: 2e6 });
  });

  it('starts with its initial tokens with refill by the interval, and counts as new a day after it was full', async () => {
    const rule = { ...quota, limit: 5, window: 10e6, refill: 'interval' } as const;
    await expectTimeline(
      bucket(rule).since(NOON),
      `
             at  cost | allowed  remaining  retry     reset
              0     1 | yes              1      0     20000
           9999     2 | no               1      1     10001
          10000     6 | yes              0      0     20000
       86429999     7 | yes              3      0     20000
      172849999     3 | no               2  never     20000
      `,
    );
  });
});

describe('an invalid refill', () => {
  const quota = { algorithm: 'token-bucket', limit: 10, window: '1s' } as const;

  it.each([
    [{ ...quota, refill: 'greedy' }, '.refill: got "greedy"; allowed: "continuous", "interval"'],
    [{ ...quota, initial: -1 }, '.initial: got -1; allowed: an integer from 0 to 1000000000'],
    [{ ...quota, initial: 11 }, ': initial is 11; allowed: at most the burst, 10'],
    [{ ...quota, burst: 5, initial: 6 }, ': initial is 6; allowed: at most the burst, 5'],
    [{ ...quota, initial: 0 }, ': initial is 0; allowed: at least the cost, 1'],
    [{ ...quota, initial: 2, cost: 3 }, ': initial is 2; allowed: at least the cost, 3'],
    [{ ...quota, algorithm: 'gcra', initial: 2 }, '.initial: no such option of gcra'],
    [{ ...quota, refill: 'interval', initial: 11 }, ': initial is 11; allowed: at most the burst, 10'],
    [
      { ...quota, refill: 'interval', prefetch: { permits: 2 } },
      ': prefetch: allowed only with the refill "continuous"',
    ],
  ])('is rejected: %j', (rule, message) => {
    expect(() => compileRule(rule as Rule)).toThrow(message);
  });

  it('does not compile for an algorithm without tokens', () => {
    // @ts-expect-error nothing is refilled
    const rule: Rule = { ...quota, algorithm: 'leaky-bucket', refill: 'interval' };
    expect(() => compileRule(rule)).toThrow('.refill: no such option of leaky-bucket');
  });
});
