import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
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

    it('keeps its cells when the clock steps back', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              3      0  15000
            4000     3 | yes              0      0  31000
            4000     1 | no               0  31000  31000
           34999     1 | no               0      1      1
           35000     4 | yes              0      0  15000
        `,
      );
    });
  });
}
