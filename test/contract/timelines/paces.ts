import type { Timelines } from './timelines.js';

export const PACES: Timelines = {
  'token-bucket': {
    rule: { limit: 1, window: '1s', burst: 4 },
    cases: [
      [
        'starts full, empties at once and refills continuously',
        [
          {},
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
        ],
      ],
      [
        'refills at a rate that does not divide evenly',
        [
          { limit: 3, window: '7s', burst: undefined },
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
        ],
      ],
      [
        'counts as empty when the clock was set back by more than its burst, with true waits',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              3      0   1000
          15000     2 | no               0   2000   4000
          15000     2 | no               0   2000   4000
          20000     0 | yes              4      0      0
          21000     2 | yes              2      0   2000
        `,
        ],
      ],
      [
        'keeps the used part of its window when the limit is lowered and raised while it runs',
        [
          { limit: 4, window: '4s', burst: undefined },
          `
          at  cost | allowed  remaining  retry  reset
           0     1 | yes              3      0   1000
        `,
        ],
        [
          { limit: 2, window: '4s', burst: undefined },
          `
          at  cost | allowed  remaining  retry  reset
           0     3 | no               1  never   1000
           0     1 | yes              0      0   3000
        `,
        ],
        [
          { limit: 8, window: '4s', burst: undefined },
          `
            at  cost | allowed  remaining  retry  reset
             0     2 | yes              0      0   4000
          1000     3 | no               2    500   3000
        `,
        ],
      ],
      [
        'adds its tokens after each whole window with refill by the interval, also when the clock is set back',
        [
          { limit: 3, window: '10s', burst: 6, refill: 'interval' },
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
        ],
      ],
      [
        'counts the used tokens with the new limit with refill by the interval',
        [
          { limit: 4, window: '10s', refill: 'interval' },
          `
          at  cost | allowed  remaining  retry  reset
           0     3 | yes              1      0  10000
        `,
        ],
        [
          { limit: 2, window: '10s', burst: 2, refill: 'interval' },
          `
            at  cost | allowed  remaining  retry  reset
          1000     1 | no               0   9000   9000
        `,
        ],
        [
          { limit: 8, window: '10s', burst: 8, refill: 'interval' },
          `
            at  cost | allowed  remaining  retry  reset
          2000     5 | yes              0      0   8000
          2000     1 | no               0   8000   8000
        `,
        ],
      ],
    ],
  },
  gcra: {
    rule: { limit: 1, window: '1s', burst: 4 },
    cases: [
      [
        'allows a burst after a pause, and then one hit every second',
        [
          {},
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
        ],
      ],
      [
        'keeps the pace of a rate that does not divide evenly',
        [
          { limit: 3, window: '7s', burst: undefined },
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
        ],
      ],
      [
        'counts its burst as used when the clock was set back by more than the burst, with true waits',
        [
          {},
          `
             at  cost | allowed  remaining  retry  reset
          20000     1 | yes              3      0   1000
          19000     1 | yes              1      0   3000
          15000     0 | yes              0      0   4000
          15000     1 | no               0   1000   4000
          20000     0 | yes              4      0      0
          20000     2 | yes              2      0   2000
        `,
        ],
      ],
      [
        'keeps the used part of its window when the limit is lowered and raised while it runs',
        [
          { limit: 4, window: '4s', burst: undefined },
          `
          at  cost | allowed  remaining  retry  reset
           0     3 | yes              1      0   3000
        `,
        ],
        [
          { limit: 2, window: '4s', burst: undefined },
          `
          at  cost | allowed  remaining  retry  reset
           0     0 | yes              0      0   3000
           0     1 | no               0   1000   3000
        `,
        ],
        [
          { limit: 8, window: '4s', burst: undefined },
          `
          at  cost | allowed  remaining  retry  reset
           0     2 | yes              0      0   4000
        `,
        ],
      ],
    ],
  },
  'leaky-bucket': {
    rule: { limit: 1, window: '1s', queue: 3 },
    cases: [
      [
        'empties its queue at the rate',
        [
          {},
          `
            at  cost | allowed  remaining  retry  reset
             0     4 | yes              0      0   4000
           999     1 | no               0      1   3001
          1000     1 | yes              0      0   4000
          1000     5 | no               0  never   4000
          3000     2 | yes              0      0   4000
          7000     0 | yes              4      0      0
        `,
        ],
      ],
    ],
  },
};
