import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { minus, permitsIn, plus, spanOf } from '../../lib/algorithms/rate.js';

const EXACT = 2 ** 53;

/** Any rate that a rule can have, from 1 per 366 days to a billion per microsecond, with a number of permits. */
const rate = fc
  .record({
    permits: fc.oneof(fc.nat(100), fc.nat(1_000_000_000)),
    limit: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 1_000_000_000 })),
    window: fc.oneof(
      fc.constantFrom(1, 7e6, 60e6, 3600e6, 366 * 86_400e6),
      fc.integer({ min: 1, max: 366 * 86_400e6 }),
    ),
  })
  .filter(({ permits, limit, window }) => permits * limit < EXACT && (permits * window) / limit < EXACT / 4);

const PROPERTY = { seed: 7, numRuns: 5_000 };

describe('the arithmetic of a rate', () => {
  it('a rate loses no fraction of a microsecond', () => {
    fc.assert(
      fc.property(rate, ({ permits, limit, window }) => {
        const { whole, part } = spanOf(permits, limit, window);
        expect(BigInt(whole) * BigInt(limit) + BigInt(part)).toBe(BigInt(permits) * BigInt(window));
        expect(part).toBeGreaterThanOrEqual(0);
        expect(part).toBeLessThan(limit);
      }),
      PROPERTY,
    );
  });

  it('a permit is available exactly when it is due', () => {
    fc.assert(
      fc.property(rate, ({ permits, limit, window }) => {
        fc.pre(permits > 0);
        const span = spanOf(permits, limit, window);
        expect(permitsIn(span, limit, window)).toBe(permits);
        const before = minus(span, { whole: 0, part: 1 }, limit);
        expect(permitsIn(before, limit, window)).toBeLessThan(permits);
      }),
      PROPERTY,
    );
  });

  it('whole permits in any span are counted as with integers of any size', () => {
    fc.assert(
      fc.property(rate, fc.nat(EXACT / 8), fc.nat(), ({ limit, window }, whole, fraction) => {
        const part = fraction % limit;
        const expected = exact(whole, part, limit, window);
        fc.pre(expected * limit < EXACT);
        expect(permitsIn({ whole, part }, limit, window)).toBe(expected);
      }),
      PROPERTY,
    );
  });

  it('charges add up and are subtracted exactly, in any order', () => {
    fc.assert(
      fc.property(rate, fc.nat(1_000_000), ({ permits, limit, window }, more) => {
        const all = permits + more;
        fc.pre(all * limit < EXACT && (all * window) / limit < EXACT / 4);
        const [first, second] = [spanOf(permits, limit, window), spanOf(more, limit, window)];
        const both = plus(first, second, limit);
        expect(both).toEqual(spanOf(all, limit, window));
        expect(minus(both, first, limit)).toEqual(second);
      }),
      PROPERTY,
    );
  });

  it('a span in the past has no permits', () => {
    expect(permitsIn({ whole: -1, part: 2 }, 3, 7e6)).toBe(0);
    expect(permitsIn({ whole: -5e6, part: 0 }, 3, 7e6)).toBe(0);
  });
});

function exact(whole: number, part: number, limit: number, window: number): number {
  return Number((BigInt(whole) * BigInt(limit) + BigInt(part)) / BigInt(window));
}
