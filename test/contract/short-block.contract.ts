import { describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { EVERY_OPTION } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function shortBlockContract(bench: () => Bench): void {
  describe.each(EVERY_OPTION)('a block of a second by $algorithm ($name)', (rule) => {
    const blocking: Rule = { ...rule, block: '1s' };

    it('ends on time whatever requests arrive meanwhile, and then the rule decides again', async () => {
      const { ask } = bench();
      const [hit, unblocked] = [ask(blocking), ask(rule, 'bob')];
      for (const each of [hit, unblocked]) await each(0, 5);
      await hit(0, 1);
      for (const at of [1, 400, 800, 999]) {
        // The later of two instants: the end of the block, and the time when a permit is available.
        const retryAfterMs = Math.max(1000 - at, (await unblocked(at, 1)).retryAfterMs!);
        expect([at, await hit(at, 1)]).toMatchObject([at, { allowed: false, retryAfterMs }]);
      }
      expect(await hit(1000, 0)).toMatchObject({ allowed: true });
      // A denial by the rule itself starts another block.
      expect(await hit(1000, 1)).toMatchObject({ allowed: false });
      expect(await hit(1999, 0)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await hit(2000, 0)).toMatchObject({ allowed: true });
    });

    it('takes no permit while it lasts', async () => {
      const { ask } = bench();
      const [ann, bob] = [ask(blocking, 'ann'), ask(rule, 'bob')];
      for (const hit of [ann, bob]) await hit(0, 4);
      await ann(0, 2);
      for (const at of [100, 500, 900]) await ann(at, 1);
      expect(await ann(1000, 0)).toMatchObject({ remaining: (await bob(1000, 0)).remaining });
    });
  });

  it('a block of one second with concurrency denies a subject even if all permits are released', async () => {
    const { limiter, goTo } = bench();
    const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 2, lease: '1m', block: '1s' };
    const inside = await limiter.hold(rule, 'ann', { cost: 2 });
    expect((await limiter.hold(rule, 'ann')).allowed).toBe(false);
    await inside.release();
    for (const at of [0, 500, 999]) {
      goTo(at);
      const refused = await limiter.hold(rule, 'ann');
      expect([at, refused.decision]).toMatchObject([at, { allowed: false, retryAfterMs: 1000 - at }]);
    }
    goTo(1000);
    const after = await limiter.hold(rule, 'ann', { cost: 2 });
    expect(after.allowed).toBe(true);
    await after.release();
  });
}
