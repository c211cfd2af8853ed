import type { Timelines } from './timelines.js';

export const SLIDING_WINDOWS: Timelines = {
  'sliding-window-log': {
    rule: { limit: 3, window: '10s' },
    cases: [
      [
        'returns each permit one window after it was taken',
        [
          {},
          `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              2      0  10000
            4000     2 | yes              0      0  10000
          9999.5     1 | no               0      1   4001
           10000     1 | yes              0      0  10000
           13999     2 | no               0      1   6001
           14000     2 | yes              0      0  10000
           14000     3 | no               0  10000  10000
           14000     4 | no               0  never  10000
           24000     0 | yes              3      0      0
           60000     3 | yes              0      0  10000
        `,
        ],
      ],
      [
        'makes a large cost wait for just as many hits as it needs to leave',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
              0     1 | yes              2      0  10000
           1000     1 | yes              1      0  10000
           2000     1 | yes              0      0  10000
           3000     1 | no               0   7000   9000
           3000     2 | no               0   8000   9000
           3000     3 | no               0   9000   9000
          11000     2 | yes              0      0  10000
        `,
        ],
      ],
      [
        'keeps its entries when the clock steps back by up to a second',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              2      0  10000
          19000     1 | yes              1      0  11000
          19000     2 | no               1  11000  11000
          20000     0 | yes              1      0  10000
          29999     2 | no               1      1      1
          30000     3 | yes              0      0  10000
        `,
        ],
      ],
      [
        'counts what counted for one window from now when the clock was set back, with true waits',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          12000     1 | yes              2      0  10000
          20000     1 | yes              1      0  10000
           4000     2 | no               1  10000  10000
           5000     2 | no               1   9000   9000
           5000     1 | yes              0      0  10000
          13999     1 | no               0      1   1001
          14000     2 | yes              0      0  10000
        `,
        ],
      ],
      [
        'keeps its entries when the limit is lowered and raised',
        [
          {},
          `
            at  cost | allowed  remaining  retry  reset
             0     1 | yes              2      0  10000
          1000     2 | yes              0      0  10000
        `,
        ],
        [
          { limit: 2 },
          `
             at  cost | allowed  remaining  retry  reset
           2000     0 | yes              0      0   9000
           2000     1 | no               0   9000   9000
          10000     1 | no               0   1000   1000
        `,
        ],
        [
          { limit: 0 },
          `
             at  cost | allowed  remaining  retry  reset
          10000     1 | no               0  never      0
        `,
        ],
        [
          { limit: 5 },
          `
             at  cost | allowed  remaining  retry  reset
          10000     3 | yes              0      0  10000
          10000     1 | no               0   1000  10000
        `,
        ],
      ],
    ],
  },
  'sliding-window-cells': {
    rule: { limit: 4, window: '10s', cells: 2 },
    cases: [
      [
        'gives the permits of a cell back together, a window after the cell has ended',
        [
          {},
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
        ],
      ],
      [
        'never allows more than the limit in a window, whose cells are aligned to the clock',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
           4999     4 | yes              0      0  10001
          10000     1 | no               0   5000   5000
          14999     1 | no               0      1      1
          15000     4 | yes              0      0  15000
        `,
        ],
      ],
      [
        'keeps its cells when the clock steps back by up to a second',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              3      0  15000
          19500     3 | yes              0      0  15500
          19500     1 | no               0  15500  15500
          34999     1 | no               0      1      1
          35000     4 | yes              0      0  15000
        `,
        ],
      ],
      [
        'counts what counted in the current cell when the clock was set back, with true waits',
        [
          {},
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
        ],
      ],
      [
        'keeps its cells when the limit is halved, set to 0 and doubled',
        [
          {},
          `
            at  cost | allowed  remaining  retry  reset
             0     1 | yes              3      0  15000
          5000     2 | yes              1      0  15000
        `,
        ],
        [
          { limit: 2 },
          `
            at  cost | allowed  remaining  retry  reset
          6000     0 | yes              0      0  14000
          6000     1 | no               0  14000  14000
        `,
        ],
        [
          { limit: 0 },
          `
            at  cost | allowed  remaining  retry  reset
          7000     1 | no               0  never      0
        `,
        ],
        [
          { limit: 8 },
          `
            at  cost | allowed  remaining  retry  reset
          8000     5 | yes              0      0  12000
          8000     1 | no               0   7000  12000
        `,
        ],
      ],
    ],
  },
};
