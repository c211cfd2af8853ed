import { describe, expect, it } from '@jest/globals';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { slidingWindowCells } from './sliding-window-cells.js';

const NOON = Date.UTC(2024, 0, 1, 12);
const NOON_US = NOON * 1000;

describe('sliding-window-cells, 6 per 10 s in cells of 2 s', () => {
  const sixPerTenSeconds = () => new Reference(slidingWindowCells, { limit: 6, window: 10e6, cells: 5 });

  it('returns the permits of a cell together, a window after the cell has ended', async () => {
    await expectTimeline(
      sixPerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     2 | yes              4      0  12000
       1999     1 | yes              3      0  10001
       2000     3 | yes              0      0  12000
      11999     1 | no               0      1   2001
      12000     3 | yes              0      0  12000
      13999     4 | no               0  10001  10001
      13999     7 | no               0  never  10001
      24000     0 | yes              6      0      0
      `,
    );
  });

  it('refunds permits of the cell that charged them, until that cell expires', () => {
    const reference = sixPerTenSeconds();
    reference.hit(NOON_US, 2);
    reference.hit(NOON_US + 2e6, 3);
    expect(reference.refund(NOON_US + 3e6, 1, NOON_US + 12e6)).toBe(true);
    expect(reference.peek(NOON_US + 3e6, 0)).toMatchObject({ remaining: 2, resetAfter: 11e6 });
    expect(reference.peek(NOON_US + 12e6, 0)).toMatchObject({ remaining: 3 });
    expect(reference.refund(NOON_US + 12e6, 1, NOON_US + 12e6)).toBe(false);
    expect(reference.refund(NOON_US + 12e6, 3, NOON_US + 14e6)).toBe(true);
    expect(reference.peek(NOON_US + 12e6, 0)).toMatchObject({ remaining: 6, resetAfter: 0 });
  });

  it('counts the same permits with the limit halved, doubled, set to 0 and back', async () => {
    const reference = sixPerTenSeconds();
    const at = reference.since(NOON);
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
          0     2 | yes              4      0  12000
       2000     2 | yes              2      0  12000
      `,
    );
    reference.change({ limit: 3, window: 10e6, cells: 5 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       3000     1 | no               0   9000  11000
       3000     2 | no               0  11000  11000
      `,
    );
    reference.change({ limit: 0, window: 10e6, cells: 5 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       3500     1 | no               0  never      0
      `,
    );
    reference.change({ limit: 12, window: 10e6, cells: 5 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       4000     8 | yes              0      0  12000
       4000     3 | no               0  10000  12000
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

describe('sliding-window-cells, 6 per 10 s in cells of 2 s, when the clock is set back', () => {
  const sixPerTenSeconds = () => new Reference(slidingWindowCells, { limit: 6, window: 10e6, cells: 5 });

  it.each(STEPS)(
    'counts what counted in the current cell after a step of %s, also if it is denied',
    async (_, by) => {
      await expectTimeline(
        sixPerTenSeconds().since(NOON),
        `
                   at  cost | allowed  remaining  retry  reset
                    0     2 | yes              4      0  12000
                13000     2 | yes              4      0  11000
                15000     1 | yes              3      0  11000
        ${14_000 - by}     4 | no               3  12000  12000
        ${17_000 - by}     4 | no               3   9000   9000
        ${17_000 - by}     3 | yes              0      0  11000
        ${25_999 - by}     1 | no               0      1   2001
        ${26_000 - by}     3 | yes              0      0  12000
        `,
      );
    },
  );

  it.each(STEPS)('allows at most one more limit when it jumps back and forth by %s', (_, by) => {
    const reference = sixPerTenSeconds();
    const admitted = [NOON, NOON - by, NOON, NOON - by].map((at) => {
      let count = 0;
      while (reference.hit(at * 1000, 1).allowed) count++;
      return count;
    });
    expect(admitted).toEqual([6, 0, 6, 0]);
  });

  it('refunds nothing that was charged before the step, while it is not stored', () => {
    const reference = sixPerTenSeconds();
    const receipt = NOON_US + reference.hit(NOON_US, 6).resetAfter;
    expect(reference.refund(NOON_US - 60e6, 6, receipt - 60e6)).toBe(false);
  });

  it('keeps its cells after a step of up to a second into the previous cell', async () => {
    await expectTimeline(
      sixPerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       2100     2 | yes              4      0  11900
       1100     5 | no               4  12900  12900
       1100     4 | yes              0      0  12900
       2100     1 | no               0  11900  11900
      13999     1 | no               0      1      1
      14000     6 | yes              0      0  12000
      `,
    );
  });
});

describe('sliding-window-cells with a limit below the number of cells', () => {
  it('has ten cells by default, whatever the limit', async () => {
    await expectTimeline(
      new Reference(slidingWindowCells, { limit: 2, window: 10e6 }).since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
        500     1 | yes              1      0  10500
       1500     1 | yes              0      0  10500
      10999     1 | no               0      1   1001
      11000     1 | yes              0      0  11000
      `,
    );
  });

  it('has the number of cells in its keys, except for the default', () => {
    const quota = { limit: 2, window: 10e6 };
    expect(slidingWindowCells.keyParts?.(quota)).toEqual([]);
    expect(slidingWindowCells.keyParts?.({ ...quota, cells: 10 })).toEqual([]);
    expect(slidingWindowCells.keyParts?.({ ...quota, cells: 60 })).toEqual([60]);
  });
});

describe('sliding-window-cells, 3 per 10 s in three cells', () => {
  it('divides the window to the microsecond', async () => {
    await expectTimeline(
      new Reference(slidingWindowCells, { limit: 3, window: 10e6, cells: 3 }).since(NOON),
      `
              at  cost | allowed  remaining  retry  reset
        3333.333     3 | yes              0      0  10001
       13333.333     1 | no               0      1      1
       13333.334     1 | yes              2      0  13334
      `,
    );
  });
});
