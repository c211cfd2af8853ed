import { describe, expect, it } from '@jest/globals';
import { ruleOf } from '../support/example-rule.js';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { readRule, type RuleText } from '../../lib/simulate/rule-text.js';
import { controlsOf } from '../../site/playground/controls.js';
import { commandOf, decoratorOf } from '../../site/playground/decorator.js';
import { textOf, tryCompile } from '../../site/playground/rule.js';
import { problemsOf } from '../readme/snippet-program.js';

const rules = Object.values(algorithms).flatMap((algorithm) =>
  algorithm.examples.map((example): RuleText => {
    const { name: _name, ...rule } = ruleOf(algorithm, example, { limit: 10, windowMs: 10_000 });
    return Object.fromEntries(Object.entries(rule).map(([field, value]) => [field, String(value)]));
  }),
);
const plain = Object.values(algorithms).map(({ name, ...algorithm }) => [
  name,
  { limit: '10', ...('leases' in algorithm ? {} : { window: '10s' }), algorithm: name },
] as const); // prettier-ignore

describe('the controls of a rule', () => {
  it.each(plain)('are the options of its algorithm that have an effect: %s', (name, rule) => {
    const names = controlsOf(rule).map((control) => control.name);
    const definition = algorithms[name as AlgorithmName];
    const isLease = 'leases' in definition;
    const without = ['prefetch', 'inherit', 'share', 'timeZone', 'anchor', ...(isLease ? ['queue'] : [])];
    const own = Object.keys(definition.options).filter((option) => !without.includes(option));
    const longest = 'delays' in definition ? ['maxWait'] : [];
    expect(names).toEqual(['limit', ...(isLease ? [] : ['window']), ...own, ...longest, 'cost', 'block']);
  });

  it.each(rules.map((rule) => [textOf(rule), rule] as const))(
    'have only values that the rule accepts, and the current one: %s',
    (_text, rule) => {
      const controls = controlsOf(rule);
      for (const { name, values, value } of controls) {
        const rejected = values.filter((each) => typeof tryCompile({ ...rule, [name]: each }) === 'string');
        expect([name, rejected]).toEqual([name, []]);
        if (value !== undefined) expect(values).toContain(value);
      }
    },
  );

  it('know the value that equals the default, from what the rule compiles to', () => {
    const standards = (rule: RuleText) =>
      Object.fromEntries(controlsOf(rule).map(({ name, standard }) => [name, standard]));
    expect(standards({ limit: '7', window: '10s', algorithm: 'token-bucket' })).toMatchObject({
      ...{ limit: undefined, burst: '10s', refill: 'continuous', initial: '7', warmUp: undefined, cost: '1' },
    });
    expect(standards({ limit: '7', window: '10s', algorithm: 'sliding-window-cells' })['cells']).toBe('10');
    expect(standards({ limit: '7', window: '10s', algorithm: 'fixed-window' })['align']).toBe('first-hit');
  });

  it('stay when a window no longer fits them, so that they can be changed', () => {
    const rule = { limit: '3', window: '366d', algorithm: 'sliding-window-cells', cells: '400' };
    expect(tryCompile(rule)).toContain('rule: cells x window is 12648960000000000 microseconds');
    const { values } = controlsOf(rule).find(({ name }) => name === 'cells')!;
    expect(values.slice(-3)).toEqual(['270', '280', '400']);
  });
});

describe('the text of a rule to copy', () => {
  it('is a decorator that compiles', () => {
    const options = { limit: '10', window: '10s', cost: '2', block: '1m' };
    const all = [...rules, ...plain.map(([, rule]) => rule), options, { limit: '10', window: '10s' }];
    const blocks = all.map((rule) => ({
      place: textOf(rule),
      language: 'ts',
      text: `import { RateLimit } from 'nestjs-redis-rate-limit';\nclass Orders { ${decoratorOf(rule)} get() {} }\n`,
    }));
    expect(problemsOf(blocks)).toEqual([]);
  }, 120_000);

  it('is short if the rule has no options', () => {
    expect(decoratorOf({ limit: '10', window: '10s' })).toBe("@RateLimit('10s', 10)");
    expect(decoratorOf({ limit: '10', window: '10s', algorithm: 'gcra' })).toBe(
      "@RateLimit('10s', 10, 'gcra')",
    );
    expect(decoratorOf({ limit: '10', window: '10s', algorithm: 'gcra', burst: '3' })).toBe(
      "@RateLimit({ window: '10s', limit: 10, algorithm: 'gcra', burst: 3 })",
    );
  });

  it('is a command that the simulator reads', () => {
    const [, text = ''] = /--rule '(.*)'$/.exec(
      commandOf({ limit: '10', window: '10s', burst: '3', algorithm: 'gcra' }),
    )!;
    expect(readRule(text).parameters).toMatchObject({ limit: 10, burst: 3 });
  });
});
