import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function fixedWindowContract(bench: () => Bench): void {
  describe('fixed-window', () => {
    const rule = {
      name: 'visits',
      algorithm: 'fixed-window',
      limit: 3,
      window: '10s',
    } as const satisfies Rule;
    const onTheClock = { ...rule, align: 'clock' } as const satisfies Rule;

    it('counts whole windows from the first hit', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
            2000     1 | yes              2      0  10000
            6000     2 | yes              0      0   6000
         11999.5     1 | no               0      1      1
           12000     2 | yes              1      0  10000
           13000     2 | no               1   9000   9000
           13000     4 | no               1  never   9000
           13000     1 | yes              0      0   9000
           22000     0 | yes              3      0      0
           35000     1 | yes              2      0  10000
        `,
      );
    });

    it('counts windows on the grid of the clock', async () => {
      await bench().expectTimeline(
        onTheClock,
        `
              at  cost | allowed  remaining  retry  reset
            2000     2 | yes              1      0   8000
          9999.5     2 | no               1      1      1
           10000     3 | yes              0      0  10000
           19999     1 | no               0      1      1
           20000     0 | yes              3      0      0
        `,
      );
    });

    it('moves a window when the clock is set back, and denies no longer than it lasts', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              2      0  10000
            4000     3 | no               2  10000  10000
            5000     1 | yes              1      0   9000
           13999     2 | no               1      1      1
           14000     3 | yes              0      0  10000
        `,
      );
      await bench().expectTimeline(
        onTheClock,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              2      0  10000
            4000     3 | no               2   6000   6000
            5000     1 | yes              1      0   5000
            9999     2 | no               1      1      1
           10000     3 | yes              0      0  10000
        `,
      );
    });

    it('keeps a window when the clock steps back by up to a second', async () => {
      for (const either of [rule, onTheClock]) {
        await bench().expectTimeline(
          either,
          `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              2      0  10000
           19000     1 | yes              1      0  11000
           19500     2 | no               1  10500  10500
           20000     0 | yes              1      0  10000
           30000     3 | yes              0      0  10000
          `,
        );
      }
    });

    it('keeps consumed permits when the limit is lowered and raised', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              0      0  10000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
            1000     0 | yes              0      0   9000
            1000     1 | no               0   9000   9000
            1000     3 | no               0  never   9000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 5 }),
        `
              at  cost | allowed  remaining  retry  reset
            2000     2 | yes              0      0   8000
            2000     1 | no               0   8000   8000
        `,
      );
    });
  });
}
