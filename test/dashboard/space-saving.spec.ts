import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mergeFrequent, SpaceSaving, type Frequent } from '../../lib/dashboard/collect/space-saving.js';

const SIZE = 8;

/** Elements of which some are frequent. */
const stream = fc.array(
  fc.integer({ min: 0, max: 15 }).map((n) => String(Math.floor((n * n) / 10))),
  {
    maxLength: 300,
  },
);

function sketchOf(elements: readonly string[]): Frequent {
  const sketch = new SpaceSaving(SIZE);
  for (const element of elements) sketch.add(element);
  return sketch.list();
}

function expectBounds({ top, rest }: Frequent, stream: readonly string[]): void {
  const exact = new Map<string, number>();
  for (const element of stream) exact.set(element, (exact.get(element) ?? 0) + 1);
  for (const [element, count, error] of top) {
    const real = exact.get(element) ?? 0;
    expect([real <= count, real >= count - error]).toEqual([true, true]);
    exact.delete(element);
  }
  for (const unlisted of exact.values()) expect(unlisted).toBeLessThanOrEqual(rest);
}

describe('a Space-Saving sketch', () => {
  it('counts exactly while there is a counter for each element', () => {
    const { top, rest } = sketchOf(['a', 'b', 'a', 'c', 'a', 'b']);
    const counts = top.map((each) => each.slice(0, 3));
    expect([counts, rest]).toEqual([
      [
        ['a', 3, 0],
        ['b', 2, 0],
        ['c', 1, 0],
      ],
      0,
    ]);
  });

  it('has bounds of the real count of every element, listed or not', () => {
    fc.assert(fc.property(stream, (elements) => expectBounds(sketchOf(elements), elements)));
  });

  it('lists every element that is more than 1/size of the stream', () => {
    fc.assert(
      fc.property(stream, (elements) => {
        const listed = new Set(sketchOf(elements).top.map(([element]) => element));
        for (const element of new Set(elements)) {
          const count = elements.filter((each) => each === element).length;
          if (count > elements.length / SIZE) expect(listed.has(element)).toBe(true);
        }
      }),
    );
  });

  it('has bounds after a merge, also of lists that were cut', () => {
    fc.assert(
      fc.property(
        fc.array(stream, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 6 }),
        (streams, most) => {
          const cut = streams.map((each) => mergeFrequent([sketchOf(each)], most));
          expectBounds(mergeFrequent(cut, most), streams.flat());
        },
      ),
    );
  });
});
