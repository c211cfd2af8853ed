import { beforeEach, describe, expect, it } from '@jest/globals';
import { LruEntry, LruMap } from './lru-map.js';

class Item extends LruEntry<Item> {
  isReleased = false;

  override release(): void {
    this.isReleased = true;
  }
}

describe('LruMap', () => {
  let evicted: string[];
  let map: LruMap<Item>;

  function open(mostEntries: number, mostSize = Infinity): void {
    evicted = [];
    map = new LruMap<Item>(mostEntries, mostSize, ({ key }) => evicted.push(key));
  }

  const add = (keys: string, size = 1) => {
    for (const key of keys) map.add(new Item(key, size));
  };
  const held = (keys: string) => Array.from(keys, (key) => map.get(key)?.key ?? '').join('');
  const swept = (keys: string, most?: number) =>
    map
      .sweep(({ key }) => keys.includes(key), most)
      .map(({ key }) => key)
      .join('');

  beforeEach(() => open(3));

  it('evicts the entry that was not used for the longest time when there are too many', () => {
    add('abc');
    expect(map.get('a')?.key).toBe('a');
    map.use(map.get('a')!);
    expect(map.get('b')?.key).toBe('b');
    add('d');
    expect([held('abcd'), evicted, map.count]).toEqual(['acd', ['b'], 3]);
  });

  it('evicts as many entries as a large one needs, but never that one', () => {
    open(9, 9);
    add('abc', 3);
    add('d', 5);
    expect([held('abcd'), evicted]).toEqual(['cd', ['a', 'b']]);
    add('e', 10);
    expect([held('cde'), evicted]).toEqual(['e', ['a', 'b', 'c', 'd']]);
  });

  it('evicts other entries when one grows', () => {
    open(9, 9);
    add('abc', 3);
    map.resize(map.get('a')!, 5);
    expect([held('abc'), evicted]).toEqual(['ac', ['b']]);
    map.resize(map.get('a')!, 1);
    add('de', 2);
    expect(held('acde')).toBe('acde');
  });

  it('finds an entry in the place of its key, and looks the key up again when the map does not hold it', () => {
    add('a');
    const place = { key: 'a', entry: undefined };
    const first = map.find(place);
    expect([first?.key, place.entry]).toEqual(['a', first]);
    add('a');
    expect(map.find(place)).toBe(map.get('a'));
    expect(map.find({ key: 'b', entry: place.entry })).toBeUndefined();
    map.delete('a');
    expect([map.find(place), place.entry]).toEqual([undefined, undefined]);
  });

  it('releases each entry that it no longer holds', () => {
    add('abc');
    const [a, b, c] = Array.from('abc', (key) => map.get(key)!);
    add('d'); // evicts a
    map.delete('b');
    expect([a, b, c].map((each) => each!.isReleased)).toEqual([true, true, false]);
    map.sweep(() => true);
    expect(c!.isReleased).toBe(true);
  });

  it('replaces an entry by another with the same key, which is no eviction', () => {
    add('abc');
    const replaced = map.get('a');
    add('a');
    expect([map.count, evicted, replaced?.map]).toEqual([3, [], undefined]);
    add('d');
    expect(held('abcd')).toBe('acd');
  });

  it('deletes entries wherever they are in the order of use', () => {
    open(9);
    add('abcde');
    for (const key of ['c', 'a', 'e']) expect(map.delete(key)?.key).toBe(key);
    expect([map.delete('c'), held('abcde'), map.count, evicted]).toEqual([undefined, 'bd', 2, []]);
    add('f');
    expect(swept('bdf')).toBe('bdf');
    expect(map.count).toBe(0);
    add('g');
    expect(held('g')).toBe('g');
  });

  it('sweeps in parts, from where the last one ended, and begins again at the end', () => {
    open(9);
    add('abcdef');
    expect(swept('bcf', 2)).toBe('b');
    expect(swept('abcdef', 0)).toBe('');
    expect(swept('bcf', 2)).toBe('c');
    map.delete('e');
    expect(swept('af', 2)).toBe('f');
    expect(swept('a', 2)).toBe('a');
    expect(held('abcdef')).toBe('d');
  });

  it('visits an entry again that is used while it is the next to be swept', () => {
    open(9);
    add('abcd');
    expect(swept('', 1)).toBe('');
    map.use(map.get('b')!);
    expect(swept('abcd')).toBe('cdb');
  });
});
