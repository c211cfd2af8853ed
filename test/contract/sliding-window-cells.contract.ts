import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function slidingWindowCellsContract(bench: () => Bench): void {
  describe('sliding-window-cells', () => {
    const rule = {
      algorithm: 'sliding-window-cells',
      limit: 4,
      window: '10s',
      cells: 2,
    } as const satisfies Rule;

    it('gives the permits of a cell back together, a window after the cell has ended', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              3      0  15000
            4999     1 | yes              2      0  10001
            5000     2 | yes              0      0  15000
          9999.5     1 | no               0   5001  10001
         14999.5     2 | no               0      1   5001
           15000     3 | no               2   5000   5000
           15000     2 | yes              0      0  15000
           20000     5 | no               2  never  10000
           30000     0 | yes              4      0      0
        `,
      );
    });

    it('never allows more than the limit in a window, whose cells are aligned to the clock', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
            4999     4 | yes              0      0  10001
           10000     1 | no               0   5000   5000
           14999     1 | no               0      1      1
           15000     4 | yes              0      0  15000
        `,
      );
    });

    it('keeps its cells when the clock steps back by up to a second', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              3      0  15000
           19500     3 | yes              0      0  15500
           19500     1 | no               0  15500  15500
           34999     1 | no               0      1      1
           35000     4 | yes              0      0  15000
        `,
      );
    });

    it('counts what counted in the current cell when the clock was set back, with true waits', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           15000     1 | yes              3      0  15000
           20000     2 | yes              1      0  15000
            4000     2 | no               1  11000  11000
            4000     1 | yes              0      0  11000
            6000     1 | no               0   9000   9000
           14999     1 | no               0      1      1
           15000     4 | yes              0      0  15000
        `,
      );
    });

    it('keeps its cells when the limit is halved, set to 0 and doubled', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              3      0  15000
            5000     2 | yes              1      0  15000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
            6000     0 | yes              0      0  14000
            6000     1 | no               0  14000  14000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 0 }),
        `
              at  cost | allowed  remaining  retry  reset
            7000     1 | no               0  never      0
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 8 }),
        `
              at  cost | allowed  remaining  retry  reset
            8000     5 | yes              0      0  12000
            8000     1 | no               0   7000  12000
        `,
      );
    });
  });
}
