import { describe, expect, it } from '@jest/globals';
import { DEFINITIONS, examplesFor } from '../../test/support/examples.js';
import { compileRule } from '../rules/compile-rule.js';

const QUOTA = { limit: 10, windowMs: 60_000 };
const NOON = Date.UTC(2024, 0, 1, 12) * 1000;

describe('the examples of the algorithms', () => {
  it.each(examplesFor(QUOTA))('$name is a valid rule', ({ rule }) => {
    expect(compileRule(rule).algorithm).toBeDefined();
  });

  it.each(examplesFor(QUOTA))(
    '$name allows a new subject the whole limit at once, unless it states otherwise',
    ({ rule, example }) => {
      const { algorithm, parameters } = compileRule(rule);
      let state: unknown;
      let allowed = 0;
      for (let nth = 1; nth <= QUOTA.limit; nth++) {
        const step = algorithm.step(state, NOON, 1, parameters, 0, `lease-${nth}`);
        if (step.allowed) ({ state } = step);
        if (step.allowed) allowed++;
      }
      expect(allowed === QUOTA.limit).toBe(example.allAtOnce !== false);
    },
  );

  // Tests, benchmarks and random rules are generated from the examples: an option in none of them would not
  // be tested. Prefetch, waiting and fair shares have suites of their own.
  it.each(DEFINITIONS)('of $name use each of its options', (definition) => {
    const used = definition.examples.flatMap(({ rule }) => Object.keys(rule(QUOTA)));
    const options = Object.keys(definition.options).filter(
      (option) => !['prefetch', 'share'].includes(option),
    );
    expect(used).toEqual(expect.arrayContaining(options));
  });
});
