import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function gcraContract(bench: () => Bench): void {
  describe('gcra', () => {
    const rule = {
      name: 'visits',
      algorithm: 'gcra',
      limit: 1,
      window: '1s',
      burst: 4,
    } as const satisfies Rule;

    it('allows a burst after a pause, and then one hit every second', async () => {
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

    it('keeps the pace of a rate that does not divide evenly', async () => {
      await bench().expectTimeline(
        { algorithm: 'gcra', limit: 3, window: '7s' },
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

    it('counts its burst as used when the clock was set back by more than the burst, with true waits', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              3      0   1000
           19000     1 | yes              1      0   3000
           15000     0 | yes              0      0   4000
           15000     1 | no               0   1000   4000
           20000     0 | yes              4      0      0
           20000     2 | yes              2      0   2000
        `,
      );
    });

    it('keeps the used part of its window when the limit is lowered and raised while it runs', async () => {
      const { ask } = bench();
      const four = { name: 'visits', algorithm: 'gcra', limit: 4, window: '4s' } as const satisfies Rule;
      await expectTimeline(
        ask(four),
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              1      0   3000
        `,
      );
      await expectTimeline(
        ask({ ...four, limit: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     0 | yes              0      0   3000
               0     1 | no               0   1000   3000
        `,
      );
      await expectTimeline(
        ask({ ...four, limit: 8 }),
        `
              at  cost | allowed  remaining  retry  reset
               0     2 | yes              0      0   4000
        `,
      );
    });
  });
}
