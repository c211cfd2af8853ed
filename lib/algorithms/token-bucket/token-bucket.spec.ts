import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { tokenBucket } from './token-bucket.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('token-bucket, 1 per second, burst 4', () => {
  const onePerSecond = () => new Reference(tokenBucket, { limit: 1, window: 1e6, burst: 4 });

  it('starts full, empties at once and refills one by one', async () => {
    await expectTimeline(
      onePerSecond().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     3 | yes              1      0   3000
          0     2 | no               1   1000   3000
       1500     2 | yes              0      0   3500
       1999     1 | no               0      1   3001
       2000     1 | yes              0      0   4000
       2000     5 | no               0  never   4000
       6000     4 | yes              0      0   4000
      `,
    );
  });

  it('never holds more than its burst, after a pause of any length', async () => {
    await expectTimeline(
      onePerSecond().since(NOON),
      `
             at  cost | allowed  remaining  retry  reset
              0     4 | yes              0      0   4000
      864000000     5 | no               4  never      0
      864000000     4 | yes              0      0   4000
      `,
    );
  });
});

describe('a refund of token-bucket after later charges', () => {
  it('refunds the rest of the charge, and a part of a token as time', () => {
    const reference = new Reference(tokenBucket, { limit: 1, window: 1e6, burst: 10 });
    reference.hit(0, 5);
    reference.hit(250_000, 1);
    expect(reference.refund(500_000, 5, 5e6)).toBe(true);
    // Without the refund, the bucket would be full at 6 s. 4.5 s of the charge had not been refilled yet.
    expect(reference.peek(500_000, 0)).toMatchObject({ remaining: 9, resetAfter: 1e6 });
    expect(reference.peek(1_499_999, 0)).toMatchObject({ remaining: 9, resetAfter: 1 });
  });

  it('refunds the whole charge if none of it has been refilled', () => {
    const reference = new Reference(tokenBucket, { limit: 1, window: 1e6, burst: 10 });
    reference.hit(0, 3);
    reference.hit(0, 4);
    reference.hit(500_000, 1);
    expect(reference.refund(500_000, 4, 7e6)).toBe(true);
    expect(reference.peek(500_000, 0)).toMatchObject({ remaining: 6, resetAfter: 3.5e6 });
  });
});
