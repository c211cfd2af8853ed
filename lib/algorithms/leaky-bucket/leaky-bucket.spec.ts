import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Twin } from '../../../test/support/twin.js';
import { leakyBucket } from './leaky-bucket.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('leaky-bucket, 1 per second with a queue of 3', () => {
  const quota = { limit: 1, window: 1e6, queue: 3 };
  const delays = (twin: { hit(now: number, cost: number): { delay: number } }, hits: number) =>
    Array.from({ length: hits }, () => twin.hit(0, 1).delay);

  it('denies a request that finds the queue full, and empties the queue at the rate', async () => {
    await expectTimeline(
      new Twin(leakyBucket, quota).since(NOON),
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
    expect(delays(new Twin(leakyBucket, quota), 4)).toEqual([0, 1e6, 2e6, 3e6]);
  });

  it('delays only the requests behind delayAfter', () => {
    expect(delays(new Twin(leakyBucket, { ...quota, delayAfter: 2 }), 4)).toEqual([0, 0, 0, 1e6]);
  });

  it('denies a request that would be delayed longer than maxDelay', () => {
    const twin = new Twin(leakyBucket, { ...quota, maxDelay: '2s' });
    expect(delays(twin, 3)).toEqual([0, 1e6, 2e6]);
    expect(twin.hit(0, 1)).toMatchObject({ allowed: false, retryAfter: 1e6 });
  });

  it('refunds the last permit in the queue, and none that others wait behind', () => {
    const twin = new Twin(leakyBucket, quota);
    twin.hit(0, 2);
    twin.hit(0, 1);
    expect(twin.refund(0, 2, 2e6)).toBe(false);
    expect(twin.refund(0, 1, 3e6)).toBe(true);
    expect(twin.peek(0, 0)).toMatchObject({ remaining: 2, resetAfter: 2e6 });
  });
});
