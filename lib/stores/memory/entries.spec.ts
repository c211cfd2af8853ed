import { afterEach, describe, expect, it } from '@jest/globals';
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
});
