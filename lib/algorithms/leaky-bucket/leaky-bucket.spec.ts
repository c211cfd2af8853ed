import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { leakyBucket } from './leaky-bucket.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('leaky-bucket, 1 per second with a queue of 3', () => {
  const quota = { limit: 1, window: 1e6, queue: 3 };
  const delays = (reference: { hit(now: number, cost: number): { delay: number } }, hits: number) =>
    Array.from({ length: hits }, () => reference.hit(0, 1).delay);

  it('denies a request that finds the queue full, and empties the queue at the rate', async () => {
    await expectTimeline(
      new Reference(leakyBucket, quota).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     4 | yes              0      0   4000
        999     1 | no               0      1   3001
       1000     1 | yes              0      0   4000
       1000     5 | no               0  never   4000
       3000     2 | yes              0      0   4000
       7000     0 | yes              4      0      0
      `,
    );
  });

  it('delays each request until the permits before it have passed', () => {
    expect(delays(new Reference(leakyBucket, quota), 4)).toEqual([0, 1e6, 2e6, 3e6]);
  });

  it('delays only the requests behind delayAfter', () => {
    expect(delays(new Reference(leakyBucket, { ...quota, delayAfter: 2 }), 4)).toEqual([0, 0, 0, 1e6]);
  });

  it('denies a request that would be delayed longer than maxWait', () => {
    const reference = new Reference(leakyBucket, { ...quota, maxWait: '2s' });
    expect(delays(reference, 3)).toEqual([0, 1e6, 2e6]);
    expect(reference.hit(0, 1)).toMatchObject({ allowed: false, retryAfter: 1e6 });
  });

  it('refunds the last permit in the queue, and none that others wait behind', () => {
    const reference = new Reference(leakyBucket, quota);
    reference.hit(0, 2);
    reference.hit(0, 1);
    expect(reference.refund(0, 2, 2e6)).toBe(false);
    expect(reference.refund(0, 1, 3e6)).toBe(true);
    expect(reference.peek(0, 0)).toMatchObject({ remaining: 2, resetAfter: 2e6 });
  });
});

describe.each([
  ['a minute', 60e6],
  ['ten hours', 36_000e6],
  ['a year', 31_536_000e6],
])('leaky-bucket, 1 per second with a queue of 3, when the clock is set back by %s', (_length, by) => {
  const START = NOON * 1000;
  const referenceOf = () => new Reference(leakyBucket, { limit: 1, window: 1e6, queue: 3 });

  it('keeps the queue as long as it was at the last charge, and reports true waits', () => {
    const reference = referenceOf();
    reference.hit(START, 4);
    const now = START + 9e5 - by;
    expect(reference.hit(now, 1)).toMatchObject({ allowed: false, retryAfter: 1e6, resetAfter: 4e6 });
    expect(reference.hit(now + 1e6 - 1, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(now + 1e6, 1)).toMatchObject({ allowed: true, delay: 3e6 });
    expect(reference.hit(now + 1e6, 1)).toMatchObject({ allowed: false, resetAfter: 4e6 });
  });

  it('keeps the delays of requests that wait beyond the queue', () => {
    const reference = referenceOf();
    for (let nth = 0; nth < 10; nth++) {
      expect(reference.hit(START, 1, Infinity)).toMatchObject({ delay: nth * 1e6 });
    }
    expect(reference.hit(START - by, 1)).toMatchObject({ allowed: false, retryAfter: 7e6 });
    expect(reference.hit(START - by, 1, Infinity)).toMatchObject({ delay: 10e6 });
  });

  it('allows at most the queue once more when the clock is set forward and back', () => {
    const reference = referenceOf();
    reference.hit(START, 4);
    expect(reference.hit(START + by, 4)).toMatchObject({ allowed: true });
    expect(reference.hit(START, 1)).toMatchObject({ allowed: false, retryAfter: 1e6 });
    expect(reference.hit(START + 1e6, 1)).toMatchObject({ allowed: true, delay: 3e6 });
  });
});

describe('leaky-bucket, when the rule changes', () => {
  const ruleOf = (limit: number, queue: number | `${number}s`) => ({ limit, window: 1e6, queue });

  it('keeps the time until the queue is empty: a limit halved, doubled, 0 and back', () => {
    const reference = new Reference(leakyBucket, ruleOf(2, '2s'));
    reference.hit(0, 4);
    for (const limit of [1, 4]) {
      reference.change(ruleOf(limit, '2s'));
      expect(reference.peek(0, 0)).toMatchObject({ remaining: 1, resetAfter: 2e6 });
    }
    reference.change(ruleOf(0, '2s'));
    expect(reference.hit(0, 1)).toMatchObject({ allowed: false, retryAfter: null });
    reference.change(ruleOf(4, '2s'));
    expect(reference.hit(1e6, 4)).toMatchObject({ allowed: true, delay: 1e6, resetAfter: 2e6 });
  });

  it('has a part in the key for the time of an explicit queue, unless it is the window', () => {
    const parts = (limit: number, queue?: number | `${number}s`) =>
      leakyBucket.keyParts!({ limit, window: 1e6, ...(queue !== undefined && { queue }) });
    expect([parts(2), parts(2, 2), parts(2, '1s'), parts(7, '1s')]).toEqual([[], [], [], []]);
    expect([parts(2, 4), parts(2, '2s'), parts(7, '2s')]).toEqual([[2e6], [2e6], [2e6]]);
  });

  it('has a queue of the permits that the limit adds in a duration, at least one', () => {
    const capacityOf = (limit: number, queue: `${number}s` | `${number}ms`) =>
      leakyBucket.capacity!(leakyBucket.compile({ limit, window: 1e6, queue }));
    expect([capacityOf(2, '2s'), capacityOf(3, '1s'), capacityOf(1, '1ms')]).toEqual([5, 4, 2]);
  });
});
