import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { rules } from './random-rule.js';
import { toRule } from './sketched-rule.js';

const names = Object.keys(algorithms) as AlgorithmName[];
const ofEveryRule = ['block', 'mode'];

function drawn(name: AlgorithmName): readonly object[] {
  return fc.sample(rules(fc.constant(name)), { seed: 1, numRuns: 300 }).map(toRule);
}

describe('the options of random timelines', () => {
  it.each(names)('random timelines have every option of %s in some rules, and omit it in others', (name) => {
    const rules = drawn(name);
    // See test/prefetch and test/concurrency.
    const isOfStores = (option: string): boolean => option !== 'prefetch';
    const own = Object.keys(algorithms[name].options).filter(isOfStores);
    for (const option of [...own, ...ofEveryRule]) {
      const having = rules.filter((rule) => option in rule).length;
      expect([option, having > 20, having < rules.length - 20]).toEqual([option, true, true]);
    }
  });

  it('random timelines have every calendar window', () => {
    const windows = drawn('fixed-window').map((rule) => (rule as { window: unknown }).window);
    expect(windows).toEqual(expect.arrayContaining(['day', 'week', 'month']));
  });
});
