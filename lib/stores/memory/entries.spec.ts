import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Entries } from './entries.js';

describe('states whose sizes are bounded in sum', () => {
  let entries: Entries;

  function open(maxSize: number): void {
    entries = new Entries(maxSize, () => false);
  }

  const put = (key: string, size: number) => entries.set(key, key, Infinity, size);
  const held = (keys: string) =>
    Array.from(keys)
      .filter((key) => entries.get(key) !== undefined)
      .join('');

  afterEach(() => entries.clear());

  it('go when they have not been used for longest, as many as a larger one needs', () => {
    open(7);
    for (const key of 'abcdefg') put(key, 1);
    entries.get('a');
    put('h', 3);
    expect(held('abcdefgh')).toBe('aefgh');
  });

  it('go when another grows, which stays itself, even if it was the next to go', () => {
    open(7);
    for (const key of 'abcdefg') put(key, 1);
    put('a', 4);
    expect(held('abcdefg')).toBe('aefg');
  });

  it('leave the last that was written, even where it is larger than all may be', () => {
    open(7);
    for (const key of 'abc') put(key, 1);
    put('a', 100);
    expect(held('abc')).toBe('a');
    put('d', 200);
    expect(held('abcd')).toBe('d');
    put('e', 1);
    expect(held('de')).toBe('e');
  });

  it('make room as they shrink and as they are deleted', () => {
    open(7);
    put('a', 6);
    put('a', 2);
    for (const key of 'bcdef') put(key, 1);
    expect(held('abcdef')).toBe('abcdef');
    entries.delete('a');
    for (const key of 'gh') put(key, 1);
    expect(held('bcdefgh')).toBe('bcdefgh');
    put('i', 1);
    expect(held('bcdefghi')).toBe('cdefghi');
  });

  it('keep one that is asked for while others come and grow, although it is moved to the front seldom', () => {
    open(800);
    put('kept', 60);
    for (let nth = 0; nth < 5000; nth++) {
      put(`other ${nth}`, 1);
      put(`other ${nth}`, 1 + (nth % 7));
      expect(entries.get('kept')).toBe('kept');
    }
  });

  it('are those that a list in the order of use would hold, whatever is done', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j');
    const write = fc.tuple(fc.constant('set' as const), key, fc.integer({ min: 1, max: 9 }));
    const other = fc.tuple(fc.constantFrom('get' as const, 'delete' as const), key, fc.constant(0));
    const property = fc.property(fc.array(fc.oneof(write, write, other), { maxLength: 60 }), (steps) => {
      open(7); // So small that each is moved to the front each time.
      let used: [key: string, size: number][] = [];
      for (const [what, name, size] of steps) {
        const known = used.find(([each]) => each === name);
        used = used.filter((each) => each !== known);
        if (what === 'set') {
          put(name, size);
          used.push([name, size]);
        } else if (what === 'get') {
          expect(entries.get(name)).toBe(known && name);
          if (known) used.push(known);
        } else {
          entries.delete(name);
        }
        while (used.length > 1 && used.reduce((sum, each) => sum + each[1], 0) > 7) used.shift();
        expect(entries.count).toBe(used.length);
      }
      expect([...used].map(([each]) => entries.get(each))).toEqual(used.map(([each]) => each));
      entries.clear();
    });
    fc.assert(property, { numRuns: 2000 });
  });
});
