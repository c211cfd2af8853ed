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

  it('denies a request that would be delayed longer than maxDelay', () => {
    const reference = new Reference(leakyBucket, { ...quota, maxDelay: '2s' });
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
