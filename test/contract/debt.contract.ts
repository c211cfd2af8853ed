import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { EVERY_OPTION, EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

/**
 * Nine permits are charged with a limit of five per ten seconds: when one is available again, when five are
 * available, and when the charge no longer counts. The figures are calculated by hand; other algorithms state their
 * own.
 */
const NINE_OF_FIVE: Record<string, readonly [oneAt: number, fiveAt: number, resetAt: number]> = {
  'fixed-window': [10_000, 20_000, 20_000], // 5 in this window and 4 in the next one.
  'sliding-window-log': [10_000, 10_000, 10_000], // Each counts for one window after it was charged.
  'sliding-window-counter': [14_445, 18_889, 18_889], // Less than 5 of 9, and less than 1 of 9, still count in the sliding window.
  'sliding-window-cells': [11_000, 11_000, 11_000],
  'sliding-window-cells 5 cells': [12_000, 12_000, 12_000],
  'token-bucket': [10_000, 18_000, 18_000], // One every two seconds, starting at 4 below zero.
  'token-bucket by the interval': [10_000, 20_000, 20_000],
  gcra: [10_000, 18_000, 18_000],
  'leaky-bucket': [10_000, 18_000, 18_000],
};

/** The figures of a rule without options, if the rule has none of its own. */
function figuresOf({ name, algorithm }: Rule) {
  return NINE_OF_FIVE[name!] ?? NINE_OF_FIVE[algorithm!];
}

export function debtContract(bench: () => Bench): void {
  describe.each(EVERY_OPTION.filter(({ window }) => window.endsWith('ms')))(
    'debt by $algorithm ($name)',
    (rule) => {
      it('is repaid from future permits, to the millisecond', async () => {
        const { limiter, goTo } = bench();
        await (await limiter.reserve(rule, 'ann', { cost: 2 })).settle(9);
        const [one, five] = [await limiter.peek(rule, 'ann'), await limiter.peek(rule, 'ann', { cost: 5 })];
        const figures = [one.retryAfterMs, five.retryAfterMs, one.resetAfterMs];
        expect(figures).toEqual(figuresOf(rule) ?? figures);
        const fiveAt = five.retryAfterMs!;
        goTo(fiveAt - 1);
        expect((await limiter.consume(rule, 'ann', { cost: 5 })).allowed).toBe(false);
        goTo(fiveAt);
        expect((await limiter.consume(rule, 'ann', { cost: 5 })).allowed).toBe(true);
      });

      it('belongs to its subject only, and is deleted by a reset', async () => {
        const { limiter } = bench();
        await (await limiter.reserve(rule, 'ann', { cost: 2 })).settle(9);
        expect(await limiter.peek(rule, 'bob', { cost: 0 })).toMatchObject({ remaining: 5, resetAfterMs: 0 });
        await limiter.reset(rule, 'ann');
        expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 5, resetAfterMs: 0 });
      });
    },
  );

  describe('a reservation of several rules', () => {
    const remainingOf = async ({ limiter }: Bench, rules: readonly Rule[]) =>
      (await limiter.peek(rules, 'ann', { cost: 0 })).decisions.map(({ remaining }) => remaining);

    const each = (rules: readonly Rule[], cost: number) =>
      Object.fromEntries(rules.map(({ name }) => [name!, cost]));

    it('is settled alike for all of them', async () => {
      const it = bench();
      const cheap = await it.limiter.reserve(EVERY_RULE, 'ann', { cost: each(EVERY_RULE, 4) });
      await cheap.settle(each(EVERY_RULE, 1));
      expect(await remainingOf(it, EVERY_RULE)).toEqual(EVERY_RULE.map(() => 4));
      const dear = await it.limiter.reserve(EVERY_RULE, 'ann', { cost: each(EVERY_RULE, 1) });
      await dear.settle(each(EVERY_RULE, 3));
      expect(await remainingOf(it, EVERY_RULE)).toEqual(EVERY_RULE.map(() => 1));
    });

    it('refunds the rules that charged too much, and charges debt to those that charged too little', async () => {
      const it = bench();
      const rules = EVERY_RULE.map((rule, index): Rule => ({ ...rule, cost: 1 + (index % 4) }));
      const reservation = await it.limiter.reserve(rules, 'ann', { settles: rules[0]!.name! });
      await reservation.settle(each(rules, 3));
      expect(await remainingOf(it, rules)).toEqual(EVERY_RULE.map(() => 2));
    });

    it('charges debt to a rule whose subject was blocked meanwhile', async () => {
      const { limiter, goTo } = bench();
      const quota = { limit: 5, window: '1h' } as const;
      const blocking: Rule = { name: 'blocking', algorithm: 'token-bucket', ...quota, block: '1s' };
      const rules: Rule[] = [blocking, { name: 'other', algorithm: 'gcra', ...quota }];
      const reservation = await limiter.reserve(rules, 'ann', { cost: each(rules, 2) });
      expect((await limiter.consume(blocking, 'ann', { cost: 4 })).allowed).toBe(false);
      await reservation.settle(each(rules, 4));
      goTo(1000);
      const { decisions } = await limiter.peek(rules, 'ann', { cost: 0 });
      expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 1]);
    });

    it('does not charge a shadow rule that would have denied it, and settles the others', async () => {
      const it = bench();
      const watched: Rule = { ...EVERY_RULE[0]!, name: 'watched', limit: 1, mode: 'shadow' };
      const rules = [watched, ...EVERY_RULE];
      const reservation = await it.limiter.reserve(rules, 'ann', { cost: each(rules, 4) });
      await reservation.settle(each(rules, 2));
      expect(await remainingOf(it, rules)).toEqual([1, ...EVERY_RULE.map(() => 3)]);
    });
  });
}
