import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ruleOf } from '../support/example-rule.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import type { RuleText } from '../../lib/simulate/rule-text.js';
import { fieldNames } from '../../site/playground/rule.js';
import { DEFAULTS, linkOf, NUMBERS, readLink, type Settings } from '../../site/playground/settings.js';
import {
  COLUMNS,
  MOST_IN_COLUMN,
  TRAFFIC,
  type TrafficName,
  type TrafficParameter,
} from '../../site/playground/traffic.js';

const numberOf = ({ least, most, step }: TrafficParameter) =>
  fc
    .integer({ min: 0, max: Math.round((most - least) / step) })
    .map((nth) => Number((least + nth * step).toFixed(2)));

const rules = Object.values(algorithms).flatMap((algorithm) =>
  algorithm.examples.map((example): RuleText => {
    const rule = ruleOf(algorithm, example, { limit: 10, windowMs: 10_000 });
    const text = Object.fromEntries(Object.entries(rule).map(([field, value]) => [field, String(value)]));
    const names = ['algorithm', ...fieldNames(text)];
    return Object.fromEntries(Object.entries(text).filter(([field]) => names.includes(field)));
  }),
);

const traffic = fc.constantFrom(...(Object.keys(TRAFFIC) as TrafficName[])).chain((kind) =>
  fc.record({
    kind: fc.constant(kind),
    values: fc.record(
      Object.fromEntries(
        Object.entries(TRAFFIC[kind].parameters).map(([name, parameter]) => [name, numberOf(parameter)]),
      ),
    ),
    drawn:
      kind === 'drawn'
        ? fc.array(fc.integer({ min: 0, max: MOST_IN_COLUMN }), { minLength: COLUMNS, maxLength: COLUMNS })
        : fc.constant([]),
  }),
);

const settings: fc.Arbitrary<Settings> = fc.record({
  traffic,
  seconds: numberOf(NUMBERS.seconds),
  seed: numberOf(NUMBERS.seed),
  held: numberOf(NUMBERS.held),
  rules: fc.array(fc.constantFrom(...rules), { minLength: 1, maxLength: 4 }),
});

describe('the link of a playground', () => {
  it('holds all settings', () => {
    fc.assert(
      fc.property(settings, (each) => {
        expect(readLink(linkOf(each))).toEqual({ settings: each, problems: [] });
      }),
    );
  });

  it('is read whatever it contains, and the settings are always valid', () => {
    const name = fc.constantFrom('traffic', 'rule', 'drawn', 'seed', 'rate', '__proto__', 'constructor');
    const pair = fc.tuple(fc.oneof(name, fc.string()), fc.string({ unit: 'grapheme' }));
    const links = fc.oneof(
      fc.string(),
      fc.array(pair).map((pairs) => new URLSearchParams(pairs).toString()),
    );
    fc.assert(
      fc.property(links, (link) => {
        const found = readLink(link);
        expect(readLink(linkOf(found.settings))).toEqual({ settings: found.settings, problems: [] });
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['traffic=__proto__', 'traffic: allowed: '],
    ['traffic=steady&rate=1e9', 'rate: allowed: 0.1 to 20'],
    ['traffic=steady&rate=-1', 'rate: allowed: 0.1 to 20'],
    ['traffic=drawn&drawn=zz', 'drawn: allowed: 40 digits from 0 to k'],
    ['rule=10/10s toString', 'algorithm: got "toString"'],
    ['rule=10/10s gcra constructor=1', '.constructor: no such option of gcra'],
    ['rule=<img src=x onerror=alert(1)>', 'rule: got "<img src=x onerror=alert(1)>"'],
    ['rule=10/10s cells=500 sliding-window-cells', 'got "sliding-window-cells"; allowed: option=value'],
    ['rule=10/365d sliding-window-cells cells=1000', 'allowed: at most 2^53 - 1'],
    ['rule=10/10s gcra name=x', 'rule "10/10s gcra name=x".name: has no effect here; remove it'],
    ['rule=10/10s gcra prefetch=x', '.prefetch: has no effect in a simulation; remove it'],
    [Array(6).fill('rule=1/1s').join('&'), 'rule: allowed: at most 4'],
    ['x'.repeat(5000), 'the link has more than 4000 characters'],
  ])('reports what is not valid: %s', (link, problem) => {
    expect(readLink(link).problems.join('\n')).toContain(problem);
  });

  it('shows the first settings if it is empty', () => {
    expect(readLink('')).toEqual({ settings: DEFAULTS, problems: [] });
    expect(readLink(linkOf(DEFAULTS)).settings).toEqual(DEFAULTS);
  });
});
