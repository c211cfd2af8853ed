import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { EVERY_OPTION } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function everyAlgorithmContract(bench: () => Bench): void {
  describe.each(EVERY_OPTION)('$algorithm ($name)', (rule) => {
    it('denies everything at limit 0, now and forever', async () => {
      await bench().expectTimeline(
        { ...rule, limit: 0 },
        `
           at  cost | allowed  remaining  retry  reset
            0     1 | no               0  never      0
            0     0 | no               0  never      0
        99999     1 | no               0  never      0
        `,
      );
    });

    it('takes no permit for a cost of 0, and allows it when no permit is left', async () => {
      const { ask, expectTimeline } = bench();
      await expectTimeline(
        rule,
        `
           at  cost | allowed  remaining  retry  reset
            0     0 | yes              5      0      0
            0     0 | yes              5      0      0
        `,
      );
      await ask(rule)(0, 5);
      expect(await ask(rule)(0, 0)).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 });
    });

    it('reports a cost that can never fit, and charges nothing', async () => {
      await bench().expectTimeline(
        rule,
        `
           at  cost | allowed  remaining  retry  reset
            0     6 | no               5  never      0
            0     0 | yes              5      0      0
        `,
      );
    });

    it('gives each subject its own permits', async () => {
      const { ask } = bench();
      const [ann, bob] = [ask(rule, 'ann'), ask(rule, 'bob')];
      expect(await ann(0, 5)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await ann(0, 1)).toMatchObject({ allowed: false, remaining: 0 });
      expect(await bob(0, 2)).toMatchObject({ allowed: true, remaining: 3 });
      expect(await bob(0, 3)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('grants nothing while the clock steps back and forth by up to a second', async () => {
      const { ask } = bench();
      let admitted = 0;
      for (const at of [12_000, 11_000, 12_000, 11_400, 12_000]) {
        while ((await ask(rule)(at, 1)).allowed) admitted++;
      }
      expect(admitted).toBe(5);
    });

    it('grants nothing when the clock is set back, and at most the limit when it jumps forward', async () => {
      const { ask } = bench();
      let admitted = 0;
      for (const at of [12_000, 4000, -50_000]) {
        while ((await ask(rule)(at, 1)).allowed) admitted++;
      }
      expect(admitted).toBe(5);
      while ((await ask(rule)(12_000, 1)).allowed) admitted++;
      expect(admitted).toBeLessThanOrEqual(10);
    });

    it('charges nothing for a clock that steps back and forth by up to a second', async () => {
      const { ask } = bench();
      const before = await ask(rule)(12_000, 2);
      await ask(rule)(11_500, 0);
      await ask(rule)(11_000, 5);
      expect(await ask(rule)(12_000, 0)).toEqual(before);
    });

    it('starts afresh after a reset, for that client alone', async () => {
      const { ask, limiter } = bench();
      await ask(rule, 'ann')(0, 5);
      await ask(rule, 'bob')(0, 5);
      await limiter.reset(rule, 'ann');
      expect(await ask(rule, 'ann')(0, 0)).toMatchObject({ remaining: 5, resetAfterMs: 0 });
      expect(await ask(rule, 'bob')(0, 0)).toMatchObject({ remaining: 0 });
    });

    it('returns with a peek the whole decision of the request, and takes nothing', async () => {
      const { limiter, goTo } = bench();
      const peekThenHit = async (cost: number) => {
        const before = await limiter.peek(rule, 'ann', { cost: 0 });
        const peeked = await limiter.peek(rule, 'ann', { cost });
        expect(await limiter.peek(rule, 'ann', { cost: 0 })).toEqual(before);
        expect(peeked).toEqual(await limiter.consume(rule, 'ann', { cost }));
      };
      for (const cost of [3, 4, 2, 1, 6]) await peekThenHit(cost);
      goTo(7000);
      for (const cost of [4, 2, 1]) await peekThenHit(cost);
    });

    it("takes the rule's cost if the hit has none", async () => {
      const { limiter } = bench();
      const dear: Rule = { ...rule, cost: 2 };
      expect(await limiter.consume(dear, 'ann')).toMatchObject({ allowed: true, remaining: 3 });
      expect(await limiter.consume(dear, 'ann', { cost: 1 })).toMatchObject({ allowed: true, remaining: 2 });
    });
  });
}
