import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function tokenBucketContract(bench: () => Bench): void {
  describe('token-bucket', () => {
    const rule = {
      name: 'visits',
      algorithm: 'token-bucket',
      limit: 1,
      window: '1s',
      burst: 4,
    } as const satisfies Rule;

    it('starts full, empties at once and refills continuously', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              1      0   3000
               0     2 | no               1   1000   3000
            1500     2 | yes              0      0   3500
          1999.5     1 | no               0      1   3001
            2000     1 | yes              0      0   4000
            2000     5 | no               0  never   4000
            6000     0 | yes              4      0      0
           60000     4 | yes              0      0   4000
        `,
      );
    });

    it('refills at a rate that does not divide evenly', async () => {
      await bench().expectTimeline(
        { algorithm: 'token-bucket', limit: 3, window: '7s' },
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              0      0   7000
        2333.333     1 | no               0      1   4667
        2333.334     1 | yes              0      0   7000
        4666.666     1 | no               0      1   4667
        4666.667     1 | yes              0      0   7000
            7000     1 | yes              0      0   7000
           14000     3 | yes              0      0   7000
        `,
      );
    });

    it('counts as empty when the clock was set back by more than its burst, with true waits', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              3      0   1000
           15000     2 | no               0   2000   4000
           15000     2 | no               0   2000   4000
           20000     0 | yes              4      0      0
           21000     2 | yes              2      0   2000
        `,
      );
    });

    it('keeps the used part of its window when the limit is lowered and raised while it runs', async () => {
      const { ask } = bench();
      const four = {
        name: 'visits',
        algorithm: 'token-bucket',
        limit: 4,
        window: '4s',
      } as const satisfies Rule;
      await expectTimeline(
        ask(four),
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              3      0   1000
        `,
      );
      await expectTimeline(
        ask({ ...four, limit: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | no               1  never   1000
               0     1 | yes              0      0   3000
        `,
      );
      await expectTimeline(
        ask({ ...four, limit: 8 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     2 | yes              0      0   4000
            1000     3 | no               2    500   3000
        `,
      );
    });

    it('adds its tokens after each whole window with refill by the interval, also when the clock is set back', async () => {
      await bench().expectTimeline(
        { algorithm: 'token-bucket', limit: 3, window: '10s', burst: 6, refill: 'interval' },
        `
              at  cost | allowed  remaining  retry  reset
           20000     5 | yes              1      0  20000
           24000     4 | no               1   6000  16000
           30000     4 | yes              0      0  20000
            5000     1 | no               0  10000  20000
            6000     4 | no               0  19000  19000
           15000     1 | yes              2      0  20000
           25000     6 | no               5  10000  10000
           35000     6 | yes              0      0  20000
        `,
      );
    });

    it('counts the used tokens with the new limit with refill by the interval', async () => {
      const { ask } = bench();
      const byInterval = { ...rule, limit: 4, window: '10s', refill: 'interval' } as const;
      await expectTimeline(
        ask(byInterval),
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              1      0  10000
        `,
      );
      await expectTimeline(
        ask({ ...byInterval, limit: 2, burst: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
            1000     1 | no               0   9000   9000
        `,
      );
      await expectTimeline(
        ask({ ...byInterval, limit: 8, burst: 8 }),
        `
              at  cost | allowed  remaining  retry  reset
            2000     5 | yes              0      0   8000
            2000     1 | no               0   8000   8000
        `,
      );
    });
  });
}
