import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectTimeline } from '../../../test/support/timeline.js';
import { Reference } from '../../../test/support/reference.js';
import { slidingWindowLog } from './sliding-window-log.js';

const NOON = Date.UTC(2024, 0, 1, 12);

describe('sliding-window-log, 3 per 10 s', () => {
  const threePerTenSeconds = () => new Reference(slidingWindowLog, { limit: 3, window: 10e6 });

  it('returns each permit exactly one window after it was taken', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              2      0  10000
       4000     2 | yes              0      0  10000
       9999     1 | no               0      1   4001
      10000     1 | yes              0      0  10000
      13999     1 | no               0      1   6001
      14000     2 | yes              0      0  10000
      24000     0 | yes              3      0      0
      `,
    );
  });

  it('makes a large cost wait until enough requests have left the window, and no longer', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              2      0  10000
       1000     1 | yes              1      0  10000
       2000     1 | yes              0      0  10000
       3000     1 | no               0   7000   9000
       3000     2 | no               0   8000   9000
       3000     3 | no               0   9000   9000
       3000     4 | no               0  never   9000
      11000     2 | yes              0      0  10000
      `,
    );
  });

  it('does not store denied requests, so that a client that keeps sending requests is allowed again', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
          0     3 | yes              0      0  10000
       3000     1 | no               0   7000   7000
       6000     1 | no               0   4000   4000
       9000     1 | no               0   1000   1000
      10000     1 | yes              2      0  10000
      `,
    );
  });
});

/** Steps of the clock, in milliseconds. */
const STEPS = [
  ['a minute', 60_000],
  ['ten hours', 36_000_000],
  ['a year', 31_536_000_000],
] as const;

describe('sliding-window-log, 3 per 10 s, when the clock is set back', () => {
  const threePerTenSeconds = () => new Reference(slidingWindowLog, { limit: 3, window: 10e6 });

  it.each(STEPS)(
    'counts what counted for one window from now after a step of %s, also if it is denied',
    async (_, by) => {
      await expectTimeline(
        threePerTenSeconds().since(NOON),
        `
                   at  cost | allowed  remaining  retry  reset
                    0     1 | yes              2      0  10000
                11000     1 | yes              2      0  10000
                15000     1 | yes              1      0  10000
        ${20_000 - by}     2 | no               1  10000  10000
        ${25_000 - by}     2 | no               1   5000   5000
        ${25_000 - by}     1 | yes              0      0  10000
        ${29_999 - by}     1 | no               0      1   5001
        ${30_000 - by}     2 | yes              0      0  10000
        `,
      );
    },
  );

  it.each(STEPS)('allows at most one more limit when it jumps back and forth by %s', (_, by) => {
    const reference = threePerTenSeconds();
    const admitted = [NOON, NOON - by, NOON, NOON - by].map((at) => {
      let count = 0;
      while (reference.hit(at * 1000, 1).allowed) count++;
      return count;
    });
    expect(admitted).toEqual([3, 0, 3, 0]);
  });

  it('refunds nothing that was charged before the step', () => {
    const reference = threePerTenSeconds();
    const now = NOON * 1000;
    const receipt = now + reference.hit(now, 3).resetAfter;
    expect(reference.refund(now - 60e6, 3, receipt)).toBe(false);
    expect(reference.hit(now - 60e6, 1).allowed).toBe(false);
    expect(reference.refund(now - 60e6, 3, receipt)).toBe(false);
  });

  it('keeps its entries after a step of up to a second', async () => {
    await expectTimeline(
      threePerTenSeconds().since(NOON),
      `
         at  cost | allowed  remaining  retry  reset
       5000     1 | yes              2      0  10000
       4000     1 | yes              1      0  11000
       4500     2 | no               1  10500  10500
      14999     2 | no               1      1      1
      15000     3 | yes              0      0  10000
      `,
    );
  });
});

describe('sliding-window-log, when the limit changes', () => {
  it('counts the same requests with the limit halved, doubled, set to 0 and back', async () => {
    const reference = new Reference(slidingWindowLog, { limit: 4, window: 10e6 });
    const at = reference.since(NOON);
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
          0     1 | yes              3      0  10000
       1000     2 | yes              1      0  10000
      `,
    );
    reference.change({ limit: 2, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       2000     1 | no               0   9000   9000
       2000     3 | no               0  never   9000
      `,
    );
    reference.change({ limit: 0, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       3000     1 | no               0  never      0
      `,
    );
    reference.change({ limit: 8, window: 10e6 });
    await expectTimeline(
      at,
      `
         at  cost | allowed  remaining  retry  reset
       4000     5 | yes              0      0  10000
       4000     2 | no               0   7000  10000
      10000     1 | yes              0      0  10000
      `,
    );
  });
});

describe('sliding-window-log, when requests are refunded', () => {
  const SECOND = 1e6;
  const start = NOON * 1000;

  /** One request per second, of which some are refunded, in this order, a millisecond after the last. */
  function refunded(count: number, ...order: number[]) {
    const reference = new Reference(slidingWindowLog, { limit: 10, window: 60 * SECOND });
    const receipts = Array.from({ length: count }, (_, nth) => {
      const at = start + nth * SECOND;
      return at + reference.hit(at, 1).resetAfter;
    });
    const now = start + (count - 1) * SECOND + 1000;
    for (const nth of order) expect(reference.refund(now, 1, receipts[nth]!)).toBe(true);
    const { remaining, resetAfter } = reference.peek(now, 0);
    return { remaining, resetAt: now + resetAfter - start };
  }

  it('the reset is that of the last request that holds permits, whatever the order of the refunds', () => {
    expect(refunded(4)).toEqual({ remaining: 6, resetAt: 63 * SECOND });
    expect(refunded(4, 3)).toEqual({ remaining: 7, resetAt: 62 * SECOND });
    expect(refunded(4, 3, 2)).toEqual({ remaining: 8, resetAt: 61 * SECOND });
    expect(refunded(4, 1, 2)).toEqual({ remaining: 8, resetAt: 63 * SECOND });
    expect(refunded(4, 1, 2, 3)).toEqual({ remaining: 9, resetAt: 60 * SECOND });
    expect(refunded(4, 0, 1, 2, 3)).toEqual({ remaining: 10, resetAt: 3 * SECOND + 1000 });
  });

  it('reports exactly what a list of all requests would report, whichever of them are refunded', () => {
    const moves = fc.array(
      fc.record({
        after: fc.nat(20),
        cost: fc.integer({ min: 1, max: 3 }),
        refund: fc.option(fc.record({ nth: fc.nat(6), permits: fc.integer({ min: 1, max: 3 }) })),
      }),
      { maxLength: 60, size: 'max' },
    );
    const property = fc.property(moves, (drawn) => {
      const reference = new Reference(slidingWindowLog, { limit: 10, window: 60 });
      const held: { at: number; permits: number }[] = [];
      let now = start;
      for (const { after, cost, refund } of drawn) {
        now += after;
        if (reference.hit(now, cost).allowed) held.unshift({ at: now, permits: cost });
        const charge = refund && held[refund.nth];
        if (charge && charge.permits > 0) {
          const permits = Math.min(charge.permits, refund.permits);
          const isRefunded = reference.refund(now, permits, charge.at + 60);
          expect(isRefunded).toBe(charge.at + 60 > now);
          if (isRefunded) charge.permits -= permits;
        }
        const counted = held.filter(({ at, permits }) => permits > 0 && at + 60 > now);
        expect(reference.peek(now, 0)).toMatchObject({
          remaining: 10 - counted.reduce((sum, { permits }) => sum + permits, 0),
          resetAfter: counted.length > 0 ? counted[0]!.at + 60 - now : 0,
        });
      }
    });
    fc.assert(property, { seed: 20_240_229, numRuns: 500 });
  });

  it('a partial refund of the last request keeps its reset', () => {
    const reference = new Reference(slidingWindowLog, { limit: 10, window: 60 * SECOND });
    const receipt = start + reference.hit(start, 5).resetAfter;
    expect(reference.refund(start + SECOND, 4, receipt)).toBe(true);
    expect(reference.peek(start + SECOND, 0)).toMatchObject({ remaining: 9, resetAfter: 59 * SECOND });
    expect(reference.refund(start + SECOND, 1, receipt)).toBe(true);
    expect(reference.peek(start + SECOND, 0)).toMatchObject({ remaining: 10, resetAfter: 0 });
    expect(reference.refund(start + SECOND, 1, receipt)).toBe(false);
  });
});

describe('sliding-window-log under steady load', () => {
  it('keeps at most the hits of one window in memory', () => {
    const reference = new Reference(slidingWindowLog, { limit: 100, window: 1e6 });
    let largest = 0;
    let denied = 0;
    for (let hit = 0; hit < 1000; hit++) {
      if (!reference.hit(hit * 10_000, 1).allowed) denied++;
      largest = Math.max(largest, reference.state!.heldLength);
    }
    expect(denied).toBe(0);
    // Expired entries are removed from the arrays when they are more than half of them.
    expect(largest).toBeLessThanOrEqual(2 * 100 + 2);
  });
});
