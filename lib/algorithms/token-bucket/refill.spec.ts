import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { Rule } from '../../index.js';
import type { Quota } from '../definition.js';
import { tokenBucket, type TokenBucketOptions } from './token-bucket.js';

const NOON = Date.UTC(2024, 0, 1, 12);
const DAY = 86_400e6;

const bucket = (rule: Quota & TokenBucketOptions) => new Reference(tokenBucket, rule);

describe("a token bucket with refill: 'interval', 3 per 10 s", () => {
  const quota = { limit: 3, window: 10e6, refill: 'interval' } as const;

  it('gets all tokens at once, one window after the request that took the first', async () => {
    await expectTimeline(
      bucket(quota).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | yes              2      0  10000
       9000     2 | yes              0      0   3000
      11999     1 | no               0      1      1
      12000     2 | yes              1      0  10000
      40000     3 | yes              0      0  10000
      49999     1 | no               0      1      1
      50000     4 | no               3  never      0
      `,
    );
  });

  it('saves tokens up to its burst, the limit at a time', async () => {
    await expectTimeline(
      bucket({ ...quota, burst: 7 }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     7 | yes              0      0  30000
       5000     4 | no               0  15000  25000
      10000     1 | yes              2      0  20000
      19999     3 | no               2      1  10001
      20000     5 | yes              0      0  30000
      49999     7 | no               6      1      1
      50000     7 | yes              0      0  30000
      `,
    );
  });

  it('fills up to its burst, even if that is less than the limit', async () => {
    await expectTimeline(
      bucket({ ...quota, burst: 2 }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     2 | yes              0      0  10000
      10000     0 | yes              2      0      0
      10000     3 | no               2  never      0
      `,
    );
  });

  it('reports waits until enough tokens are added, the limit at a time', () => {
    const parameters = tokenBucket.compile(quota);
    let state: Parameters<typeof tokenBucket.step>[0];
    const delays = Array.from({ length: 8 }, (_, hit) => {
      const step = tokenBucket.step(state, NOON + hit, 1, parameters, DAY);
      if (step.allowed) state = step.state;
      return step.delay;
    });
    expect(delays).toEqual([0, 0, 0, 10e6 - 3, 10e6 - 4, 10e6 - 5, 20e6 - 6, 20e6 - 7]);
    expect(tokenBucket.step(state, NOON + 8, 1, parameters, 20e6 - 9)).toMatchObject({
      allowed: false,
      retryAfter: 1,
    });
  });

  it('repays debt from the tokens that are added', async () => {
    const reference = bucket(quota);
    const step = tokenBucket.step(undefined, NOON * 1000, 8, tokenBucket.compile(quota), Infinity);
    if (step.allowed) reference.state = step.state;
    await expectTimeline(
      reference.since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | no               0  20000  30000
      19999     1 | no               0      1  10001
      20000     1 | yes              0      0  10000
      30000     3 | yes              0      0  10000
      `,
    );
  });

  it('gets refunded tokens back, and its window continues', () => {
    const parameters = tokenBucket.compile(quota);
    const taken = { used: 3, instant: NOON, part: 0, refill: parameters, until: 0 };
    const refund = (now: number, cost: number, receipt = NOON + 10e6) =>
      tokenBucket.refund(taken, now, cost, parameters, receipt, false);
    expect(refund(NOON + 9e6, 2)).toEqual({
      state: { ...taken, used: 1 },
      expiresAfter: 1e6,
    });
    expect(refund(NOON + 9e6, 3)).toMatchObject({ state: { used: 0 }, expiresAfter: 0 });
    expect(refund(NOON + 10e6, 1)).toBeUndefined();
  });

  it('keeps its refill after a change of the rule until it is full', () => {
    const reference = bucket({ limit: 3, window: 10e6 });
    reference.hit(0, 3);
    expect(reference.peek(5e6, 0).remaining).toBe(1);
    reference.change(quota);
    expect(reference.peek(6_666_666, 2)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(6_666_667, 2).allowed).toBe(true);
    expect(reference.peek(10e6, 0).remaining).toBe(1);
    expect(reference.peek(19_999_999, 0).remaining).toBe(1);
    expect(reference.peek(20e6, 0).remaining).toBe(3);
  });
});

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
    expect(step).toMatchObject({ allowed: true, delay: 3e6, state: { used: 13 } });
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

  it('refunds nothing to a new subject for charges from before', () => {
    const parameters = tokenBucket.compile(quota);
    const full = { used: 1, instant: 0, part: 0, refill: parameters, until: 0 };
    expect(tokenBucket.refund(full, 1e6 + DAY, 1, parameters, 2e6 + DAY, false)).toBeUndefined();
  });

  it('expires when it is full if new buckets are full', () => {
    expect(bucket({ ...quota, initial: 10 }).hit(NOON, 2)).toMatchObject({ expiresAfter: 2e6 });
  });

  it('starts with its initial tokens with every refill', async () => {
    await expectTimeline(
      bucket({ ...quota, limit: 5, window: 10e6, refill: 'interval' }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              1      0  20000
       9999     2 | no               1      1  10001
      10000     6 | yes              0      0  20000
      `,
    );
  });
});

describe('an invalid refill', () => {
  const quota = { algorithm: 'token-bucket', limit: 10, window: '1s' } as const;

  it.each([
    [{ ...quota, refill: 'greedy' }, '.refill: got "greedy"; allowed: "continuous" or "interval"'],
    [{ ...quota, initial: -1 }, '.initial: got -1; allowed: an integer from 0 to 1000000000'],
    [{ ...quota, initial: 11 }, ': initial is 11; allowed: at most the burst, 10'],
    [{ ...quota, burst: 5, initial: 6 }, ': initial is 6; allowed: at most the burst, 5'],
    [{ ...quota, initial: 0 }, ': initial is 0; allowed: at least the cost, 1'],
    [{ ...quota, initial: 2, cost: 3 }, ': initial is 2; allowed: at least the cost, 3'],
    [{ ...quota, algorithm: 'gcra', initial: 2 }, '.initial: no such option of gcra'],
  ])('is rejected: %j', (rule, message) => {
    expect(() => compileRule(rule as Rule)).toThrow(message);
  });

  it('does not compile for an algorithm without tokens', () => {
    // @ts-expect-error nothing is refilled
    const rule: Rule = { ...quota, algorithm: 'leaky-bucket', refill: 'interval' };
    expect(() => compileRule(rule)).toThrow('.refill: no such option of leaky-bucket');
  });
});
