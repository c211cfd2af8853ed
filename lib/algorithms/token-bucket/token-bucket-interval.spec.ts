import { describe, expect, it } from '@jest/globals';
import { clockedConsumer } from '../../../test/support/clocked-consumer.js';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { compileRule } from '../../rules/compile-rule.js';
import type { Quota } from '../definition.js';
import type { WindowState } from '../windows.js';
import { intervalBucket } from './token-bucket-interval.js';
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
    const parameters = intervalBucket.compile(quota);
    let state: WindowState | undefined;
    const delays = Array.from({ length: 8 }, (_, hit) => {
      const step = intervalBucket.step(state, NOON + hit, 1, parameters, DAY);
      if (step.allowed) state = step.state;
      return step.delay;
    });
    expect(delays).toEqual([0, 0, 0, 10e6 - 3, 10e6 - 4, 10e6 - 5, 20e6 - 6, 20e6 - 7]);
    expect(intervalBucket.step(state, NOON + 8, 1, parameters, 20e6 - 9)).toMatchObject({
      allowed: false,
      retryAfter: 1,
    });
  });

  it('repays debt from the tokens that are added', async () => {
    const reference = bucket(quota);
    reference.hit(NOON * 1000, 8, Infinity);
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
    const parameters = intervalBucket.compile(quota);
    const taken = { start: NOON, windows: 1, count: 3, written: NOON };
    const refund = (now: number, cost: number, receipt = NOON + 10e6) =>
      intervalBucket.refund(taken, now, cost, parameters, receipt, false);
    expect(refund(NOON + 9e6, 2)).toEqual({
      state: { ...taken, count: 1, written: NOON + 9e6 },
      expiresAfter: 1e6,
    });
    expect(refund(NOON + 9e6, 3)).toMatchObject({ state: { windows: 0 }, expiresAfter: 0 });
    expect(refund(NOON + 10e6, 1)).toBeUndefined();
  });

  it('returns the tokens of whole windows for a charge that has partly been added again', () => {
    const reference = bucket({ ...quota, limit: 2, window: 1e6, burst: 10 });
    reference.hit(0, 4);
    reference.hit(250_000, 1);
    expect(reference.refund(1_500_000, 4, 2e6)).toBe(true);
    expect(reference.peek(1_500_000, 0)).toMatchObject({ remaining: 9, resetAfter: 0.5e6 });
  });

  it('charges a cost above the burst as debt if it waits and has an overdraft', () => {
    const parameters = intervalBucket.compile({ ...quota, overdraft: true });
    const decide = (state: WindowState | undefined, now: number, cost: number, maxWait: number) =>
      intervalBucket.step(state, now, cost, parameters, maxWait);
    const lent = decide(undefined, NOON, 8, 60e6);
    expect(lent).toMatchObject({ allowed: true, remaining: 0, delay: 0, resetAfter: 30e6 });
    const { state } = lent as { state: WindowState };
    expect(decide(state, NOON + 5e6, 1, 60e6)).toMatchObject({ allowed: true, delay: 15e6 });
    expect(decide(state, NOON + 5e6, 4, 60e6)).toMatchObject({ allowed: true, delay: 25e6 });
    expect(decide(state, NOON + 5e6, 4, 24e6)).toMatchObject({ allowed: false, retryAfter: 1e6 });
    expect(decide(state, NOON + 5e6, 4, 0)).toMatchObject({ allowed: false, retryAfter: null });
  });

  it('has a key of its own, with the time of an explicit burst', () => {
    const nameOf = (changes: object) =>
      compileRule({ ...{ algorithm: 'token-bucket', limit: 3, window: '10s' }, ...changes }).stateName;
    expect(nameOf({ refill: 'interval' })).toBe('token-bucket-interval2/10000');
    expect(nameOf({ refill: 'interval', burst: 3 })).toBe('token-bucket-interval2/10000');
    expect(nameOf({ refill: 'interval', burst: 7 })).toBe('token-bucket-interval2/10000/23333334');
    expect(nameOf({ refill: 'interval', burst: '30s' })).toBe('token-bucket-interval2/10000/30000000');
    expect(nameOf({ refill: 'continuous' })).toBe('token-bucket2/10000');
  });
});

describe("a token bucket with refill: 'interval' whose limit is changed", () => {
  const quota = { limit: 4, window: 10e6, refill: 'interval' } as const;

  it('counts the used tokens up to the new limit, and all of them when the limit returns', () => {
    const reference = bucket(quota);
    reference.hit(0, 3);
    const after = (limit: number, cost: number) => {
      reference.change({ ...quota, limit });
      return reference.peek(2e6, cost);
    };
    expect(after(2, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfter: 8e6, resetAfter: 8e6 });
    expect(after(8, 0)).toMatchObject({ remaining: 5, resetAfter: 8e6 });
    expect(after(0, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfter: null });
    expect(after(4, 0)).toMatchObject({ remaining: 1, resetAfter: 8e6 });
  });

  it('adds the missing tokens of a larger burst in as many windows as before', () => {
    const reference = bucket({ ...quota, burst: 8 });
    reference.hit(0, 7);
    reference.change({ ...quota, limit: 2, burst: 4 });
    expect(reference.peek(0, 1)).toMatchObject({ allowed: false, retryAfter: 10e6, resetAfter: 20e6 });
    expect(reference.peek(10e6, 2)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 20e6 });
    reference.change({ ...quota, limit: 100, burst: 200 });
    expect(reference.peek(0, 0)).toMatchObject({ remaining: 97, resetAfter: 20e6 });
  });

  it('leaves a debt to the windows that it was charged to', () => {
    const reference = bucket({ ...quota, limit: 2 });
    reference.hit(0, 7, Infinity);
    reference.change({ ...quota, limit: 10 });
    expect(reference.peek(0, 1)).toMatchObject({ allowed: false, retryAfter: 30e6, resetAfter: 40e6 });
    expect(reference.peek(30e6, 9)).toMatchObject({ allowed: true, remaining: 0 });
    reference.change({ ...quota, limit: 2 });
    expect(reference.peek(29_999_999, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.peek(30e6, 1)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 10e6 });
  });

  it('allows no more than the larger limit in a window when two limits alternate', () => {
    const reference = bucket({ ...quota, limit: 100, window: 3600e6 });
    let allowed = 0;
    for (let second = 0; second < 3600; second += 1) {
      reference.change({ ...quota, limit: second % 2 === 0 ? 100 : 1, window: 3600e6 });
      if (reference.hit(second * 1e6, 1).allowed) allowed += 1;
    }
    expect(allowed).toBe(100);
  });
});

describe("a token bucket with refill: 'interval' when the clock is set back", () => {
  const rule = { algorithm: 'token-bucket', limit: 3, window: '10s', burst: 6, refill: 'interval' } as const;

  it.each([
    ['a minute', 60_000],
    ['ten hours', 36_000_000],
    ['a year', 365 * 86_400_000],
  ])('keeps the times until its next tokens, and grants none, for %s', async (_, step) => {
    await expectTimeline(
      clockedConsumer(rule, NOON),
      `
              at  cost | allowed  remaining  retry  reset
               0     5 | yes              1      0  20000
            4000     2 | no               1   6000  16000
      ${4000 - step} 2 | no               1  10000  20000
      ${5000 - step} 2 | no               1   9000  19000
      ${5000 - step} 1 | yes              0      0  19000
     ${14_000 - step} 3 | yes             0      0  20000
      `,
    );
  });

  it('decides as if no time had passed if the step is shorter than a second', async () => {
    await expectTimeline(
      clockedConsumer(rule, NOON),
      `
              at  cost | allowed  remaining  retry  reset
               0     5 | yes              1      0  20000
            -999     2 | no               1  10999  20999
            -999     1 | yes              0      0  20999
           10000     3 | yes              0      0  20000
      `,
    );
  });

  it('keeps the delay of a reservation', () => {
    const parameters = intervalBucket.compile({ limit: 3, window: 10e6 });
    const taken = { start: NOON * 1000, windows: 3, count: 1, written: NOON * 1000 };
    const back = NOON * 1000 - 3600e6;
    expect(intervalBucket.isAhead?.(taken, back, parameters)).toBe(true);
    expect(intervalBucket.step(taken, back, 1, parameters, 60e6)).toMatchObject({ delay: 20e6 });
    expect(intervalBucket.step(taken, back, 0, parameters)).toMatchObject({
      state: { start: back, windows: 3, count: 1, written: back },
      expiresAfter: 30e6,
    });
  });
});
