import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mostAtOnce, worstWindow } from '../../site/playground/worst-window.js';

const instants = fc
  .array(fc.integer({ min: 0, max: 60 }), { maxLength: 30 })
  .map((all) => all.toSorted((a, b) => a - b));

describe('the worst window of a playground', () => {
  it('has as many requests as the fullest of all windows, and its place is such a window', () => {
    fc.assert(
      fc.property(instants, fc.integer({ min: 1, max: 70 }), (sorted, length) => {
        const inWindow = (from: number) => sorted.filter((at) => at >= from && at < from + length).length;
        const all = Array.from({ length: 140 }, (_, nth) => inWindow(nth - 70));
        const worst = worstWindow(sorted, length);
        expect(worst?.count ?? 0).toBe(Math.max(...all));
        if (worst) expect([inWindow(worst.from), worst.until]).toEqual([worst.count, worst.from + length]);
      }),
    );
  });

  it('counts the requests that hold permits at the same time', () => {
    const span = fc.tuple(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 1, max: 20 }));
    fc.assert(
      fc.property(fc.array(span, { maxLength: 20 }), (spans) => {
        const held = spans.map(([from, length]) => ({ from, until: from + length }));
        const openAt = (at: number) => held.filter(({ from, until }) => from <= at && at < until).length;
        const all = Array.from({ length: 80 }, (_, at) => openAt(at));
        const worst = mostAtOnce(held);
        expect(worst?.count ?? 0).toBe(Math.max(...all));
        if (worst) expect([openAt(worst.from), openAt(worst.until - 1)]).toEqual([worst.count, worst.count]);
      }),
    );
  });
});
