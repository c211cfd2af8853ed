import { describe, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { slidingWindowCounter } from './sliding-window-counter.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('sliding-window-counter, 10 per 10 s', () => {
  const tenPerTenSeconds = () => new Reference(slidingWindowCounter, { limit: 10, window: 10e6 });

  it('weights the previous window by the share of it that the sliding window covers', async () => {
    await expectTimeline(
      tenPerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0    10 | yes              0      0  19001
       9999     1 | no               0      2   9002
      10000     1 | no               0      1   9001
      10001     1 | yes              0      0  10000
      10001     1 | no               0   1000  10000
      11000     1 | no               0      1   9001
      11001     1 | yes              0      0  14000
      15000     4 | no               3      1  10001
      20000     0 | yes              8      0   5001
      30000     0 | yes             10      0      0
      `,
    );
  });

  it('rounds a weighted permit down, so that a fraction of a permit denies no request', async () => {
    await expectTimeline(
      tenPerTenSeconds().since(NOON),
      `
              at  cost | allowed  remaining  retry  reset
               0     3 | yes              7      0  16667
           10000     0 | yes              7      0   6667
       10000.001     0 | yes              8      0   6667
       13333.333     0 | yes              8      0   3334
       13333.334     0 | yes              9      0   3334
           19999     0 | yes             10      0      0
           20000     0 | yes             10      0      0
      `,
    );
  });

  it('reports how long a large cost has to wait, also into the next window', async () => {
    await expectTimeline(
      tenPerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       5000     6 | yes              4      0  13334
       5000     5 | no               4   5001  13334
       5000    10 | no               4  13334  13334
       5000    11 | no               4  never  13334
      10001     5 | yes              0      0  18000
      `,
    );
  });
});

describe('sliding-window-counter, 122,002,280 per week', () => {
  const week = 604_800_000;
  const onTheGrid = Math.floor(NOON / week) * week;

  // 122,002,279 permits x 604,800,000,000 µs exceed 2^53, so the product is rounded.
  it('allows a request at the edge of a window after the reported wait', async () => {
    await expectTimeline(
      new Reference(slidingWindowCounter, { limit: 122_002_280, window: 604_800e6 }).since(onTheGrid),
      `
              at       cost | allowed  remaining      retry       reset
               0          1 | yes      122002279          0   604800010
       604800000  122002279 | yes              0          0  1209600000
       604800001          1 | no               0          9  1209599999
      1209600000          1 | yes              0          0   604800010
      `,
    );
  });
});
