import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function slidingWindowCounterContract(bench: () => Bench): void {
  describe('sliding-window-counter', () => {
    const rule = {
      name: 'visits',
      algorithm: 'sliding-window-counter',
      limit: 10,
      window: '10s',
    } as const satisfies Rule;

    it('weighs the previous window by its share of the sliding one', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0    10 | yes              0      0  19001
            9999     1 | no               0      2   9002
           10000     1 | no               0      1   9001
           10001     1 | yes              0      0  10000
           10001     1 | no               0   1000  10000
           11000     1 | no               0      1   9001
           11001     1 | yes              0      0  14000
           11500    11 | no               0  never  13501
           15000     4 | no               3      1  10001
           20000     0 | yes              8      0   5001
           30000     0 | yes             10      0      0
        `,
      );
    });

    it('reports a wait into the next window for a large cost', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
            5000     6 | yes              4      0  13334
            5000     5 | no               4   5001  13334
            5000    10 | no               4  13334  13334
           10001     5 | yes              0      0  18000
        `,
      );
    });

    it('keeps its counters when the clock steps back by up to a second', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     4 | yes              6      0  17501
           19500     4 | yes              2      0  19251
           19500     3 | no               2  10501  19251
           19000     3 | no               2  11001  19751
           20000     0 | yes              2      0  18751
        `,
      );
    });

    it('counts what counted in the current window when the clock was set back, with true waits', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     4 | yes              6      0  17501
            4000     7 | no               6   6001  13501
            4000     4 | yes              2      0  14751
            4000     3 | no               2   6001  14751
           10000     3 | no               2      1   8751
           10001     3 | yes              0      0  16666
        `,
      );
    });

    it('keeps its counters when the limit is lowered and raised', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     8 | yes              2      0  18751
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 4 }),
        `
              at  cost | allowed  remaining  retry  reset
            5000     0 | yes              0      0  13751
            5000     1 | no               0  10001  13751
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 12 }),
        `
              at  cost | allowed  remaining  retry  reset
            5000     4 | yes              0      0  14167
           10000     1 | no               0      1   9167
        `,
      );
    });
  });
}
