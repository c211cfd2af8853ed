import { describe, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function slidingWindowCounterContract(bench: () => Bench): void {
  describe('sliding-window-counter', () => {
    const rule = { algorithm: 'sliding-window-counter', limit: 10, window: '10s' } as const satisfies Rule;

    it('weighs the previous window by its share of the sliding one', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0    10 | yes              0      0  20000
            9999     1 | no               0      2  10001
           10000     1 | no               0      1  10000
           10001     1 | yes              0      0  19999
           10001     1 | no               0   1000  19999
           11000     1 | no               0      1  19000
           11001     1 | yes              0      0  18999
           11500    11 | no               0  never  18500
           15000     4 | no               3      1  15000
           20000     0 | yes              8      0  10000
           30000     0 | yes             10      0      0
        `,
      );
    });

    it('tells a large cost to wait into the next window if it must', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
            5000     6 | yes              4      0  15000
            5000     5 | no               4   5001  15000
            5000    10 | no               4  13334  15000
           10001     5 | yes              0      0  19999
        `,
      );
    });

    it('keeps its counters when the clock steps back', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     4 | yes              6      0  20000
            4000     4 | yes              2      0  36000
            4000     3 | no               2  26001  36000
           20000     0 | yes              2      0  20000
           30000     3 | no               2      1  10000
           30001     3 | yes              0      0  19999
        `,
      );
    });

    it('goes on with its counters when the limit is lowered and raised while it runs', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     8 | yes              2      0  20000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 4 }),
        `
              at  cost | allowed  remaining  retry  reset
            5000     0 | yes              0      0  15000
            5000     1 | no               0  10001  15000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 12 }),
        `
              at  cost | allowed  remaining  retry  reset
            5000     4 | yes              0      0  15000
           10000     1 | no               0      1  10000
        `,
      );
    });
  });
}
