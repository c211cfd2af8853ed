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

    it('keeps its tokens when the clock steps back', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              3      0   1000
           15000     2 | yes              1      0   8000
           15000     2 | no               1   6000   8000
           20000     0 | yes              1      0   3000
           21000     2 | yes              0      0   4000
        `,
      );
    });

    it('keeps the permits that were used when rate and burst are lowered and raised while it runs', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              3      0   1000
        `,
      );
      await expectTimeline(
        ask({ ...rule, burst: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | no               1  never   1000
               0     1 | yes              0      0   2000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 2, burst: 6 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     2 | yes              2      0   3000
            1000     3 | yes              0      0   3500
        `,
      );
    });
  });
}
