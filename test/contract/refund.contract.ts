import { describe, expect, it } from '@jest/globals';
import type { Decision, Rule } from '../../lib/index.js';
import { EVERY_OPTION, EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function refundContract(bench: () => Bench): void {
  describe.each(EVERY_OPTION)('a refund by $algorithm ($name)', (rule) => {
    it('returns the charged permits, once', async () => {
      const { limiter } = bench();
      await limiter.consume(rule, 'ann', { cost: 2 });
      const decision = await limiter.consume(rule, 'ann', { cost: 3 });
      expect(await limiter.refund(decision)).toBe(true);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 3 });
      expect(await limiter.refund(decision)).toBe(false);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 3 });
    });

    it('returns nothing for a denial or a peek', async () => {
      const { limiter } = bench();
      await limiter.consume(rule, 'ann', { cost: 5 });
      expect(await limiter.refund(await limiter.consume(rule, 'ann'))).toBe(false);
      expect(await limiter.refund(await limiter.peek(rule, 'ann', { cost: 0 }))).toBe(false);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 0 });
    });

    it('returns nothing for an expired charge, and so never too much', async () => {
      const { limiter, goTo } = bench();
      const decision = await limiter.consume(rule, 'ann', { cost: 3 });
      goTo(decision.resetAfterMs);
      await limiter.consume(rule, 'ann', { cost: 4 });
      expect(await limiter.refund(decision)).toBe(false);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 1 });
    });

    it('returns nothing after a reset', async () => {
      const { limiter } = bench();
      const decision = await limiter.consume(rule, 'ann', { cost: 3 });
      await limiter.reset(rule, 'ann');
      expect(await limiter.refund(decision)).toBe(false);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 5, resetAfterMs: 0 });
    });

    it('returns the permits of a charge after the clock was set back, although the last reset is ahead of it', async () => {
      const { limiter, goTo } = bench();
      await limiter.consume(rule, 'ann', { cost: 3 });
      await limiter.reset(rule, 'ann');
      goTo(-10_000);
      const charged = await limiter.consume(rule, 'ann', { cost: 4 });
      expect(await limiter.refund(charged)).toBe(true);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 5 });
    });

    it('returns nothing for a charge that a reset has cleared, whatever was charged since', async () => {
      const { limiter, other, goTo } = bench();
      const cleared = await limiter.consume(rule, 'ann', { cost: 3 });
      const reserved = await limiter.reserve(rule, 'ann', { cost: 2 });
      goTo(1);
      await (rule.per === 'instance' ? limiter : other).reset(rule, 'ann');
      goTo(2);
      const charged = await limiter.consume(rule, 'ann', { cost: 4 });
      expect(await limiter.refund(cleared)).toBe(false);
      await reserved.cancel();
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 1 });
      expect(await limiter.refund(charged)).toBe(true);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 5 });
    });

    it('returns nothing for a charge that the first of two resets has cleared', async () => {
      const { limiter, goTo } = bench();
      const cleared = await limiter.consume(rule, 'ann', { cost: 3 });
      for (const at of [1, 3]) {
        goTo(at);
        await limiter.reset(rule, 'ann');
        goTo(at + 1);
        await limiter.consume(rule, 'ann', { cost: 2 });
      }
      expect(await limiter.refund(cleared)).toBe(false);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 3 });
    });
  });

  it('a refund applies to all rules of a request, or to the named ones', async () => {
    const { limiter } = bench();
    const remaining = async () =>
      (await limiter.peek(EVERY_RULE, 'ann', { cost: 0 })).decisions.map((each) => each.remaining);
    const decision = await limiter.consume(EVERY_RULE, 'ann', { cost: 2 });
    const named = [EVERY_RULE[2]!.name!, EVERY_RULE[6]!.name!];
    await limiter.refund(decision, { rules: named });
    expect(await remaining()).toEqual(EVERY_RULE.map(({ name }) => (named.includes(name!) ? 5 : 3)));
    await limiter.refund(decision);
    expect(await remaining()).toEqual(EVERY_RULE.map(() => 5));
  });

  describe('a refund by sliding-window-log', () => {
    const rule = { algorithm: 'sliding-window-log', limit: 3, window: '10s' } as const satisfies Rule;

    it('returns false and frees nothing for an entry older than the newest 1,000, and refunds a newer one', async () => {
      const { limiter, goTo } = bench();
      const large = { ...rule, limit: 5000 };
      const decisions: Decision[] = [];
      for (let nth = 0; nth < 1100; nth++) {
        goTo(nth);
        decisions.push(await limiter.consume(large, 'ann'));
      }
      const remaining = async () => (await limiter.peek(large, 'ann', { cost: 0 })).remaining;
      expect(await limiter.refund(decisions[0]!)).toBe(false);
      expect(await limiter.refund(decisions[99]!)).toBe(false);
      expect(await remaining()).toBe(3900);
      expect(await limiter.refund(decisions[100]!)).toBe(true);
      expect(await limiter.refund(decisions[1099]!)).toBe(true);
      expect(await remaining()).toBe(3902);
    });

    it('leaves the reset of the last request that still holds permits', async () => {
      const { limiter, goTo } = bench();
      const reset = async () => (await limiter.peek(rule, 'ann', { cost: 0 })).resetAfterMs;
      const decisions: Decision[] = [];
      for (const at of [0, 4000, 8000]) {
        goTo(at);
        decisions.push(await limiter.consume(rule, 'ann'));
      }
      expect(await reset()).toBe(10_000);
      await limiter.refund(decisions[1]!);
      expect(await reset()).toBe(10_000);
      await limiter.refund(decisions[2]!);
      expect(await reset()).toBe(2000);
      expect(await limiter.peek(rule, 'ann', { cost: 3 })).toMatchObject({
        allowed: false,
        retryAfterMs: 2000,
      });
      await limiter.refund(decisions[0]!);
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 3, resetAfterMs: 0 });
    });
  });
}
