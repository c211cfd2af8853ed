import { describe, expect, it } from '@jest/globals';
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

/** Steps of the clock, in milliseconds: multiples of the window, so that the time within it stays the same. */
const STEPS = [
  ['a minute', 60_000],
  ['ten hours', 36_000_000],
  ['a year', 31_536_000_000],
] as const;

describe('sliding-window-counter, 10 per 10 s, when the clock is set back', () => {
  const tenPerTenSeconds = () => new Reference(slidingWindowCounter, { limit: 10, window: 10e6 });

  it.each(STEPS)(
    'counts what counted in the current window after a step of %s, also if it is denied',
    async (_, by) => {
      await expectTimeline(
        tenPerTenSeconds().since(NOON),
        `
                   at  cost | allowed  remaining  retry  reset
                    0     6 | yes              4      0  18334
                15000     3 | yes              4      0  11667
        ${14_000 - by}     5 | no               4   6001  14334
        ${16_000 - by}     5 | no               4   4001  12334
        ${20_001 - by}     5 | yes              0      0  18000
        `,
      );
    },
  );

  it.each(STEPS)('allows at most one more limit when it jumps back and forth by %s', (_, by) => {
    const reference = tenPerTenSeconds();
    const admitted = [NOON, NOON - by, NOON, NOON - by].map((at) => {
      let count = 0;
      while (reference.hit(at * 1000, 1).allowed) count++;
      return count;
    });
    expect(admitted).toEqual([10, 0, 10, 0]);
  });

  it('refunds nothing that was charged before the step, while it is not stored', () => {
    const reference = tenPerTenSeconds();
    const now = NOON * 1000;
    const receipt = now + reference.hit(now, 10).resetAfter;
    expect(reference.refund(now - 60e6, 10, receipt - 60e6)).toBe(false);
  });

  it('keeps its counters after a step of up to a second into the previous window', async () => {
    await expectTimeline(
      tenPerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       5000     2 | yes              8      0  10001
      10200     4 | yes              5      0  17301
       9200     6 | no               4   5801  18301
       9200     4 | yes              0      0  19551
      10200     6 | no               1  13551  18551
      `,
    );
  });
});

describe('sliding-window-counter, when the limit changes', () => {
  it('counts the same permits with the limit halved, doubled, set to 0 and back', async () => {
    const reference = new Reference(slidingWindowCounter, { limit: 10, window: 10e6 });
    const at = reference.since(NOON);
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
          0     8 | yes              2      0  18751
      `,
    );
    reference.change({ limit: 5, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       5000     1 | no               0   8751  13751
      `,
    );
    reference.change({ limit: 0, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       6000     1 | no               0  never      0
      `,
    );
    reference.change({ limit: 20, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       7000    12 | yes              0      0  12501
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
