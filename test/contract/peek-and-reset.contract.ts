import { describe, expect, it } from '@jest/globals';
import { EVERY_KIND } from './every-option.js';
import type { Bench } from './limiter-bench.js';
import { take } from './take.js';

/** Hits in every state: partly used, used up, in the next window, and long expired. */
const HITS: readonly (readonly [at: number, cost: number])[] = [
  ...([
    [0, 1],
    [0, 2],
    [500, 3],
    [2500, 2],
    [2500, 1],
    [7000, 1],
  ] as const),
  ...([
    [9999, 3],
    [10_000, 3],
    [10_001, 1],
    [13_000, 5],
    [14_000, 1],
    [40_000, 5],
  ] as const),
  ...([
    [41_000, 6],
    [20_000, 1],
    [41_000, 1],
    [90_000_000, 5],
    [90_000_000, 1],
  ] as const),
];

export function peekAndResetContract(bench: () => Bench): void {
  describe.each(EVERY_KIND)('$algorithm ($name)', (rule) => {
    it('decides alike with and without peeks in between', async () => {
      const { limiter, goTo } = bench();
      for (const [at, cost] of HITS) {
        goTo(at);
        for (const asked of [0, 1, 4, 6]) await limiter.peek(rule, 'ann', { cost: asked });
        const told = await take(limiter, rule, cost, 'ann');
        expect([at, cost, told]).toEqual([at, cost, await take(limiter, rule, cost, 'bob')]);
      }
    });

    it('returns from a reset whether there was any state', async () => {
      const { limiter } = bench();
      expect(await limiter.reset(rule, 'eve')).toBe(false);
      await take(limiter, rule, 1, 'eve');
      expect(await limiter.reset(rule, 'eve')).toBe(true);
      expect(await limiter.reset(rule, 'eve')).toBe(false);
    });

    it('decides for a subject after a reset, with all debts and blocks, as for a new one', async () => {
      const { limiter, other, goTo } = bench();
      if (rule.algorithm !== 'concurrency') await (await limiter.reserve(rule, 'ann')).settle(20);
      for (const [at, cost] of HITS.slice(0, 4)) {
        goTo(at);
        await take(limiter, rule, cost, 'ann');
      }
      const asked = (subject: string) => limiter.peek(rule, subject, { cost: 5 });
      expect(await asked('ann')).not.toEqual(await asked('bob'));
      await (rule.per === 'instance' ? limiter : other).reset(rule, 'ann');
      for (const [at, cost] of HITS.slice(4)) {
        goTo(at);
        const told = await take(limiter, rule, cost, 'ann');
        expect([at, cost, told]).toEqual([at, cost, await take(limiter, rule, cost, 'bob')]);
      }
    });
  });
}
