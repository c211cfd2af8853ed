import { describe, expect, it } from '@jest/globals';
import { examplesFor } from '../../test/support/examples.js';
import type { AnyRule } from '../index.js';
import { compileRule } from '../rules/compile-rule.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import { algorithms } from './registry.js';

const NOON = Date.UTC(2024, 0, 1, 12) * 1000;

const RULES = examplesFor({ limit: 10, windowMs: 60_000 })
  .filter(({ rule }) => 'inherit' in rule)
  .map(({ name, rule }) => ({ name, rule }));

const withLimit = (rule: AnyRule, limit: number): CompiledRule => compileRule({ ...rule, limit });

/** Charges permits one by one. Returns the last state and what is left. */
function consume({ algorithm, parameters }: CompiledRule, permits: number, stored?: unknown) {
  let state = stored;
  let remaining = algorithm.step(state, NOON, 0, parameters).remaining;
  for (let nth = 0; nth < permits; nth++) {
    const step = algorithm.step(state, NOON, 1, parameters);
    if (!step.allowed) return { state, remaining, allowed: nth };
    ({ state, remaining } = step);
  }
  return { state, remaining, allowed: permits };
}

describe.each(RULES)('$name', ({ rule }) => {
  it.each([
    { from: 10, used: 5, to: 100, left: 50 },
    { from: 100, used: 50, to: 10, left: 5 },
    { from: 100, used: 51, to: 10, left: 4 },
    { from: 7, used: 1, to: 10, left: 8 },
    { from: 3, used: 3, to: 1000, left: 0 },
    { from: 1000, used: 1, to: 3, left: 2 },
    { from: 9973, used: 9972, to: 9967, left: 0 },
    { from: 9973, used: 9971, to: 9967, left: 1 },
  ])('$used of $from consumed permits leave $left of $to', ({ from, used, to, left }) => {
    const { state } = consume(withLimit(rule, from), used);
    const { algorithm, parameters } = withLimit(rule, to);
    expect(algorithm.step(state, NOON, 0, parameters).remaining).toBe(left);
  });

  it('processes that alternate between two limits allow at most the larger one', () => {
    for (const [one, other] of [
      [10, 100],
      [7, 10],
      [1, 3],
    ] as const) {
      let state: unknown;
      let total = 0;
      for (let nth = 0; nth < 300; nth++) {
        const { state: next, allowed } = consume(withLimit(rule, nth % 2 ? one : other), 1, state);
        state = next;
        total += allowed;
      }
      expect(total).toBeLessThanOrEqual(other);
      expect(total).toBeGreaterThan(0);
    }
  });

  it('the limit 0 denies everything and changes no state', () => {
    const { algorithm, parameters } = withLimit(rule, 0);
    const { state } = consume(withLimit(rule, 10), 5);
    expect(algorithm.step(state, NOON, 1, parameters)).toMatchObject({ allowed: false, retryAfter: null });
    expect(algorithm.refund(state, NOON, 1, parameters, NOON + 1, false)).toBeUndefined();
  });
});

describe('the option inherit', () => {
  it('a rule with a burst cannot be proportional, since the scaled part is that of the limit', () => {
    const rule = { limit: 10, window: '1m', burst: 20, inherit: 'proportional' } as const;
    for (const algorithm of ['gcra', 'token-bucket'] as const) {
      expect(() => compileRule({ ...rule, algorithm })).toThrow(
        'burst is 20; allowed: none with inherit "proportional"',
      );
    }
  });

  it('a proportional limit is at most the square root of 2^53, so that scaling is exact', () => {
    const rule = { algorithm: 'gcra', window: '1h', inherit: 'proportional' } as const;
    expect(() => compileRule({ ...rule, limit: 94_906_266 })).toThrow('at most 94906265');
    expect(compileRule({ ...rule, limit: 94_906_265 }).algorithm.name).toBe('gcra-proportional');
  });

  it('algorithms that store each permit, or requests that wait, have no option inherit', () => {
    const without = Object.values(algorithms).filter(({ options }) => !('inherit' in options));
    expect(without).toHaveLength(3);
    for (const { name } of without) {
      const rule = { algorithm: name, limit: 1, window: '1s', inherit: 'proportional' } as unknown as AnyRule;
      expect(() => compileRule(rule)).toThrow('inherit');
    }
  });
});
