import type { Timelines } from './timelines.js';

export const COUNTED_WINDOWS: Timelines = {
  'fixed-window': {
    rule: { limit: 3, window: '10s' },
    cases: [
      [
        'counts whole windows from the first hit',
        [
          {},
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
        ],
      ],
      [
        'counts windows on the grid of the clock',
        [
          { align: 'clock' },
          `
              at  cost | allowed  remaining  retry  reset
            2000     2 | yes              1      0   8000
          9999.5     2 | no               1      1      1
           10000     3 | yes              0      0  10000
           19999     1 | no               0      1      1
           20000     0 | yes              3      0      0
        `,
        ],
      ],
      [
        'moves a window when the clock is set back, and denies no longer than it lasts',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              2      0  10000
           4000     3 | no               2  10000  10000
           5000     1 | yes              1      0   9000
          13999     2 | no               1      1      1
          14000     3 | yes              0      0  10000
        `,
        ],
        [
          { align: 'clock' },
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              2      0  10000
           4000     3 | no               2   6000   6000
           5000     1 | yes              1      0   5000
           9999     2 | no               1      1      1
          10000     3 | yes              0      0  10000
        `,
        ],
      ],
      [
        'keeps a window when the clock steps back by up to a second',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              2      0  10000
          19000     1 | yes              1      0  11000
          19500     2 | no               1  10500  10500
          20000     0 | yes              1      0  10000
          30000     3 | yes              0      0  10000
        `,
        ],
        [
          { align: 'clock' },
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              2      0  10000
          19000     1 | yes              1      0  11000
          19500     2 | no               1  10500  10500
          20000     0 | yes              1      0  10000
          30000     3 | yes              0      0  10000
        `,
        ],
      ],
      [
        'keeps consumed permits when the limit is lowered and raised',
        [
          {},
          `
          at  cost | allowed  remaining  retry  reset
           0     3 | yes              0      0  10000
        `,
        ],
        [
          { limit: 2 },
          `
            at  cost | allowed  remaining  retry  reset
          1000     0 | yes              0      0   9000
          1000     1 | no               0   9000   9000
          1000     3 | no               0  never   9000
        `,
        ],
        [
          { limit: 5 },
          `
            at  cost | allowed  remaining  retry  reset
          2000     2 | yes              0      0   8000
          2000     1 | no               0   8000   8000
        `,
        ],
      ],
    ],
  },
  'sliding-window-counter': {
    rule: { limit: 10, window: '10s' },
    cases: [
      [
        'weighs the previous window by its share of the sliding one',
        [
          {},
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
        ],
      ],
      [
        'reports a wait into the next window for a large cost',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
           5000     6 | yes              4      0  13334
           5000     5 | no               4   5001  13334
           5000    10 | no               4  13334  13334
          10001     5 | yes              0      0  18000
        `,
        ],
      ],
      [
        'keeps its counters when the clock steps back by up to a second',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     4 | yes              6      0  17501
          19500     4 | yes              2      0  19251
          19500     3 | no               2  10501  19251
          19000     3 | no               2  11001  19751
          20000     0 | yes              2      0  18751
        `,
        ],
      ],
      [
        'counts what counted in the current window when the clock was set back, with true waits',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     4 | yes              6      0  17501
           4000     7 | no               6   6001  13501
           4000     4 | yes              2      0  14751
           4000     3 | no               2   6001  14751
          10000     3 | no               2      1   8751
          10001     3 | yes              0      0  16666
        `,
        ],
      ],
      [
        'keeps its counters when the limit is lowered and raised',
        [
          {},
          `
          at  cost | allowed  remaining  retry  reset
           0     8 | yes              2      0  18751
        `,
        ],
        [
          { limit: 4 },
          `
            at  cost | allowed  remaining  retry  reset
          5000     0 | yes              0      0  13751
          5000     1 | no               0  10001  13751
        `,
        ],
        [
          { limit: 12 },
          `
             at  cost | allowed  remaining  retry  reset
           5000     4 | yes              0      0  14167
          10000     1 | no               0      1   9167
        `,
        ],
      ],
    ],
  },
};
