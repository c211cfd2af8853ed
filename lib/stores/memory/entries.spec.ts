import { afterEach, describe, expect, it } from '@jest/globals';
import { Entries } from './entries.js';

describe('Entries', () => {
  let entries: Entries;

  function open(maxSize: number): void {
    entries = new Entries(maxSize, () => false);
  }

  const put = (key: string, size: number) => entries.set({ key }, key, Infinity, size);
  const held = (keys: string) =>
    Array.from(keys)
      .filter((key) => entries.get({ key }) !== undefined)
      .join('');

  afterEach(() => entries.clear());

  it('evicts the least recently used states to make room for a large one', () => {
    open(7);
    for (const key of 'abcdefg') put(key, 1);
    entries.get({ key: 'a' });
    put('h', 3);
    expect(held('abcdefgh')).toBe('aefgh');
  });

  it('evicts other states when a state grows, even if that is the least recently used', () => {
    open(7);
    for (const key of 'abcdefg') put(key, 1);
    put('a', 4);
    expect(held('abcdefg')).toBe('aefg');
  });

  it('keeps the state written last, even if it alone exceeds the maximum size', () => {
    open(7);
    for (const key of 'abc') put(key, 1);
    put('a', 100);
    expect(held('abc')).toBe('a');
    put('d', 200);
    expect(held('abcd')).toBe('d');
    put('e', 1);
    expect(held('de')).toBe('e');
  });

  it('has room for more states when states shrink or are deleted', () => {
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

  it('allocates memory for the states that it holds, not for its maximum size, so that the first state is stored at once', () => {
    open(Number.MAX_SAFE_INTEGER);
    for (const key of 'abc') put(key, 1);
    expect(held('abc')).toBe('abc');
  });

  it('keeps a state that is read regularly while others are added and grow', () => {
    open(800);
    put('kept', 60);
    for (let nth = 0; nth < 5000; nth++) {
      put(`other ${nth}`, 1);
      put(`other ${nth}`, 1 + (nth % 7));
      expect(entries.get({ key: 'kept' })).toBe('kept');
    }
  });
});
