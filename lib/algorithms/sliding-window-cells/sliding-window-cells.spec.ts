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

  it('keeps the count of a shorter window when the window becomes longer', () => {
    const reference = sixPerTenSeconds();
    reference.hit(NOON_US, 6);
    reference.change({ limit: 6, window: 60e6, cells: 6 });
    // The permits count as if they had been taken at the end of their cell, at 1.999999 s. That cell now ends
    // at 10 s.
    expect(reference.peek(NOON_US + 2e6, 1)).toMatchObject({ allowed: false, retryAfter: 68e6 });
    expect(reference.peek(NOON_US + 70e6, 6)).toMatchObject({ allowed: true });
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
