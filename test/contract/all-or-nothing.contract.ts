import { describe, expect, it } from '@jest/globals';
import type { Decision, Rule } from '../../lib/index.js';
import { EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

const tight: Rule = { name: 'tight', algorithm: 'fixed-window', limit: 2, window: '1m' };
const tightest: Rule = { name: 'tightest', algorithm: 'gcra', limit: 1, window: '1h' };

export function allOrNothingContract(bench: () => Bench): void {
  describe('several rules in one request', () => {
    it('charges all rules if all allow, and reports the strictest', async () => {
      const { limiter } = bench();
      const decision = await limiter.consume([...EVERY_RULE, tight], 'ann');
      expect(decision).toMatchObject({ allowed: true, rule: 'tight', limit: 2, remaining: 1 });
      expect(remainingOf(decision)).toEqual([...EVERY_RULE.map(() => 4), 1]);
    });

    it('charges no rule if one denies, and reports the figures from before the hit', async () => {
      const { limiter, goTo } = bench();
      await limiter.consume([...EVERY_RULE, tight], 'ann', { cost: 2 });
      goTo(1000);
      const before = await limiter.peek([...EVERY_RULE, tight], 'ann', { cost: 0 });
      const denied = await limiter.consume([...EVERY_RULE, tight], 'ann');
      expect(denied).toMatchObject({ allowed: false, rule: 'tight', remaining: 0, retryAfterMs: 59_000 });
      expect(denied.decisions.slice(0, -1)).toEqual(before.decisions.slice(0, -1));
      expect(await limiter.peek([...EVERY_RULE, tight], 'ann', { cost: 0 })).toEqual(before);
    });

    it('charges no rule wherever in the request the denying rule is', async () => {
      const { limiter } = bench();
      await limiter.consume(tight, 'ann', { cost: 2 });
      for (const rules of [
        [tight, ...EVERY_RULE],
        [...EVERY_RULE.slice(0, 3), tight, ...EVERY_RULE.slice(3)],
        [...EVERY_RULE, tight],
      ]) {
        expect((await limiter.consume(rules, 'ann')).allowed).toBe(false);
      }
      const decision = await limiter.peek(EVERY_RULE, 'ann', { cost: 0 });
      expect(new Set(remainingOf(decision))).toEqual(new Set([5]));
    });

    it('names every rule that denied, and the one with the longest wait first of all', async () => {
      const { limiter } = bench();
      await limiter.consume([tight, tightest], 'ann');
      await limiter.consume(tight, 'ann');
      const decision = await limiter.consume([EVERY_RULE[0]!, tight, tightest], 'ann');
      expect(decision).toMatchObject({ allowed: false, rule: 'tightest', retryAfterMs: 3_600_000 });
      expect(decision.decisions.map(({ rule, allowed }) => [rule, allowed])).toEqual([
        [EVERY_RULE[0]!.name, true],
        ['tight', false],
        ['tightest', false],
      ]);
    });

    it('treats a wait without end as the longest', async () => {
      const { limiter } = bench();
      const decision = await limiter.consume([tightest, tight], 'ann', { cost: 2 });
      expect(decision).toMatchObject({ allowed: false, rule: 'tightest', retryAfterMs: null });
    });

    it('charges each rule its own cost', async () => {
      const { limiter } = bench();
      const rules = EVERY_RULE.map((rule, index): Rule => ({ ...rule, cost: index % 6 }));
      const expected = rules.map(({ cost }) => 5 - Number(cost));
      expect(remainingOf(await limiter.consume(rules, 'ann'))).toEqual(expected);
    });

    it('resets all the rules given', async () => {
      const { limiter } = bench();
      await limiter.consume(EVERY_RULE, 'ann', { cost: 5 });
      await limiter.reset(EVERY_RULE, 'ann');
      expect((await limiter.consume(EVERY_RULE, 'ann', { cost: 5 })).allowed).toBe(true);
    });
  });
}

function remainingOf({ decisions }: Decision): number[] {
  return decisions.map(({ remaining }) => remaining);
}
