import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { Entries } from '../../lib/stores/memory/entries.js';

describe('the states of a memory store', () => {
  it('a memory store has at most 100,000 states by default', async () => {
    const store = new MemoryStore();
    const limiter = new RateLimiter({ store });
    const rule = { algorithm: 'fixed-window', limit: 2, window: '10s' } as const;
    for (let nth = 0; nth < 100_100; nth++) await limiter.consume(rule, `subject ${nth}`);
    expect(store.size).toBe(100_000);
    await store.close();
  });

  it('a memory store keeps the same states as a list in order of use', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j');
    const write = fc.tuple(fc.constant('set' as const), key, fc.integer({ min: 1, max: 9 }));
    const other = fc.tuple(fc.constantFrom('get' as const, 'delete' as const), key, fc.constant(0));
    const property = fc.property(fc.array(fc.oneof(write, write, other), { maxLength: 60 }), (steps) => {
      const entries = new Entries(7, () => false); // So small that each key is moved to the front at each access.
      let used: [key: string, size: number][] = [];
      const kept = Array.from('abcde', (each) => ({ key: each })); // The other state keys are new each time.
      const stateKeyOf = (name: string) => kept.find((each) => each.key === name) ?? { key: name };
      for (const [what, name, size] of steps) {
        const known = used.find(([each]) => each === name);
        used = used.filter((each) => each !== known);
        if (what === 'set') {
          entries.set(stateKeyOf(name), name, Infinity, size);
          used.push([name, size]);
        } else if (what === 'get') {
          expect(entries.get(stateKeyOf(name))).toBe(known && name);
          if (known) used.push(known);
        } else {
          entries.delete(name);
        }
        while (used.length > 1 && used.reduce((sum, each) => sum + each[1], 0) > 7) used.shift();
        expect(entries.count).toBe(used.length);
      }
      expect([...used].map(([each]) => entries.get(stateKeyOf(each)))).toEqual(used.map(([each]) => each));
      entries.clear();
    });
    fc.assert(property, { numRuns: 2000 });
  });
});
