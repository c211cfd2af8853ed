import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function shadowContract(bench: () => Bench): void {
  describe.each(EVERY_RULE)('$algorithm ($name) in shadow mode', (rule) => {
    const shadow: Rule = { ...rule, mode: 'shadow' };
    const enforced: Rule = { name: 'enforced', algorithm: 'fixed-window', limit: 7, window: '1m' };

    it('reports that it would deny, and denies nothing', async () => {
      const { limiter } = bench();
      await limiter.consume([shadow, enforced], 'ann', { cost: 5 });
      const decision = await limiter.consume([shadow, enforced], 'ann');
      expect(decision).toMatchObject({ allowed: true, rule: 'enforced', remaining: 1, retryAfterMs: 0 });
      expect(decision.decisions[0]).toMatchObject({ allowed: false, shadow: true, remaining: 0 });
    });

    it('is not charged for requests that it or another rule denies', async () => {
      const { limiter } = bench();
      await limiter.consume([shadow, enforced], 'ann', { cost: 4 });
      await limiter.consume([shadow, enforced], 'ann', { cost: 4 });
      await limiter.consume([shadow, enforced], 'ann', { cost: 2 });
      const { decisions } = await limiter.peek([shadow, enforced], 'ann', { cost: 0 });
      expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 1]);
    });

    it('starts only blocks that are not enforced', async () => {
      const { limiter } = bench();
      const blocking: Rule = { ...shadow, block: '1h' };
      await limiter.consume(blocking, 'ann', { cost: 5 });
      for (let again = 0; again < 2; again++) {
        const decision = await limiter.consume([blocking, enforced], 'ann');
        expect(decision.allowed).toBe(true);
        expect(decision.decisions[0]).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
      }
    });
  });

  // If a rule states its burst or queue, the limit of a trial changes only the rate.
  it.each(EVERY_RULE.filter((rule) => !('burst' in rule || 'queue' in rule)))(
    '$algorithm ($name) watches another limit beside the live one, as a trial',
    async (rule) => {
      const { limiter } = bench();
      const live: Rule = { ...rule, limit: 5, trial: { limit: 10, window: '1d' } };
      await limiter.consume(live, 'ann', { cost: 4 });
      const decision = await limiter.consume(live, 'ann', { cost: 2 });
      expect(decision).toMatchObject({ allowed: false, rule: rule.name });
      expect(decision.decisions.map((each) => [each.rule, each.allowed, each.shadow])).toEqual([
        [rule.name, false, undefined],
        [`${rule.name}?`, true, true],
      ]);
    },
  );

  it("each process has its own counters with per: 'instance'", async () => {
    const { limiter, other } = bench();
    const rules = EVERY_RULE.map((rule): Rule => ({ ...rule, per: 'instance' }));
    await limiter.consume(rules, 'ann', { cost: 5 });
    expect(await limiter.consume(rules, 'ann')).toMatchObject({ allowed: false });
    expect(await other.consume(rules, 'ann', { cost: 5 })).toMatchObject({ allowed: true });
    expect(await limiter.peek(EVERY_RULE, 'ann', { cost: 0 })).toMatchObject({ remaining: 5 });
  });
}
