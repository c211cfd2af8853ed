import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { everyRule, EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

const MINUTE = 60_000;
const TOKENS = everyRule({ limit: 10_000, windowMs: MINUTE });
const REQUESTS = everyRule({ limit: 60, windowMs: MINUTE });

/** Tokens and requests per minute with each algorithm, and with each of its options that keep limit and window. */
const LLM: readonly (readonly [string, readonly Rule[]])[] = TOKENS.map((rule, nth) => [
  rule.name!,
  [
    { ...rule, name: 'tokens' },
    { ...REQUESTS[nth]!, name: 'requests' },
  ],
]);

const FIVE = { window: '1h', limit: 5, algorithm: 'gcra' } as const;
const A = { ...FIVE, name: 'a' } as const;
const B = { ...FIVE, name: 'b' } as const;

/** The remaining permits of each result, also of trial limits. */
async function remainingOf({ limiter }: Bench, rules: readonly Rule[]): Promise<number[]> {
  const { decisions } = await limiter.peek(rules, 'ann', { cost: 0 });
  return decisions.map(({ remaining }) => remaining);
}

export function costByRuleContract(bench: () => Bench): void {
  describe.each(LLM)('tokens and requests per minute with %s', (_name, rules) => {
    it('a call of 1,500 tokens takes one request of the 60 per minute, and the user is not denied', async () => {
      const it = bench();
      const call = await it.limiter.reserve(rules, 'ann', { cost: { tokens: 2_000 } });
      expect(await remainingOf(it, rules)).toEqual([8_000, 59]);
      expect(await call.settle({ tokens: 1_500 })).toBe(true);
      expect(await remainingOf(it, rules)).toEqual([8_500, 59]);
      expect(await it.limiter.consume(rules, 'ann', { cost: { tokens: 100 } })).toMatchObject({
        allowed: true,
      });
      expect(await remainingOf(it, rules)).toEqual([8_400, 58]);
    });

    it('a call that exceeds its estimate is charged to the tokens only, also as debt', async () => {
      const it = bench();
      const call = await it.limiter.reserve(rules, 'ann', { settles: 'tokens', cost: 2_000 });
      expect(await call.settle(11_000)).toBe(true);
      expect(await remainingOf(it, rules)).toEqual([0, 59]);
    });

    it('a cancelled call takes neither tokens nor a request', async () => {
      const it = bench();
      const call = await it.limiter.reserve(rules, 'ann', { cost: { tokens: 2_000 } });
      expect(await call.cancel()).toBe(true);
      expect(await remainingOf(it, rules)).toEqual([10_000, 60]);
    });
  });

  describe('a cost by rule name', () => {
    it('leaves their own cost to the rules that it does not name, in every operation that takes several rules', async () => {
      const it = bench();
      const rules: Rule[] = [A, { ...B, cost: 2 }];
      const options = { cost: { a: 3 } };
      const peeked = await it.limiter.peek(rules, 'ann', options);
      const { decisions } = await it.limiter.consume(rules, 'ann', options);
      expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 3]);
      expect(peeked.allowed).toBe(true);
      const again = await it.limiter.consume(rules, 'ann', options);
      expect(again).toMatchObject({ allowed: false, rule: 'a' });
      expect(again.decisions.map(({ allowed }) => allowed)).toEqual([false, true]);
      expect(await it.limiter.peek(rules, 'ann', options)).toMatchObject({ allowed: false, rule: 'a' });
      expect(await remainingOf(it, rules)).toEqual([2, 3]);
    });

    it('concerns the trial limit of the rule as well, and so does its settlement', async () => {
      const it = bench();
      const rules: Rule[] = [{ ...A, trial: { limit: 4 } }, B];
      const reservation = await it.limiter.reserve(rules, 'ann', { cost: { a: 3 } });
      expect(await remainingOf(it, rules)).toEqual([2, 1, 4]);
      await reservation.settle({ a: 2, b: 2 });
      expect(await remainingOf(it, rules)).toEqual([3, 2, 3]);
    });

    it('settles only the shadow rule that it names, and changes no charge of one that would have denied', async () => {
      const it = bench();
      const rules: Rule[] = [{ ...A, mode: 'shadow' }, B, { ...FIVE, name: 'c', mode: 'shadow', limit: 1 }];
      const reservation = await it.limiter.reserve(rules, 'ann', { cost: { a: 3, c: 2 } });
      expect(reservation.allowed).toBe(true);
      expect(await reservation.settle({ c: 1 })).toBe(false);
      expect(await remainingOf(it, rules)).toEqual([2, 4, 1]);
      const other = await it.limiter.reserve(rules, 'ann', { cost: { a: 2, b: 2 } });
      expect(await other.settle({ a: 1 })).toBe(true);
      expect(await remainingOf(it, rules)).toEqual([1, 2, 0]);
    });
  });

  describe('the settlement of several rules', () => {
    it('changes each charge by its own difference', async () => {
      const it = bench();
      const costs = (ofNth: (nth: number) => number) =>
        Object.fromEntries(EVERY_RULE.map(({ name }, nth) => [name!, ofNth(nth)]));
      const reservation = await it.limiter.reserve(EVERY_RULE, 'ann', {
        cost: costs((nth) => 1 + (nth % 4)),
      });
      await reservation.settle(costs((nth) => 1 + ((nth + 1) % 4)));
      expect(await remainingOf(it, EVERY_RULE)).toEqual(EVERY_RULE.map((_rule, nth) => 4 - ((nth + 1) % 4)));
    });

    it('has an effect once: the charges of rules that the first call did not name stay', async () => {
      const it = bench();
      const reservation = await it.limiter.reserve([A, B], 'ann', { cost: { a: 3, b: 3 } });
      expect(await reservation.settle({ a: 1 })).toBe(true);
      expect(await reservation.settle({ b: 1 })).toBe(false);
      expect(await reservation.cancel()).toBe(false);
      expect(await remainingOf(it, [A, B])).toEqual([4, 2]);
    });

    it('changes nothing after a denial', async () => {
      const it = bench();
      await it.limiter.consume(A, 'ann', { cost: 5 });
      const denied = await it.limiter.reserve([A, B], 'ann', { settles: 'b', cost: 2 });
      expect(denied.allowed).toBe(false);
      expect([await denied.settle(4), await denied.cancel()]).toEqual([false, false]);
      expect(await remainingOf(it, [A, B])).toEqual([0, 5]);
    });
  });

  it('a reservation of several rules is refused before the work, with nothing charged, if it is unknown which rule is settled', async () => {
    const it = bench();
    const rules: readonly Rule[] = [A, { ...B, mode: 'shadow' }];
    const refusal = /reserve\(\) of "a", "b" needs to know which rule is settled/;
    await expect(it.limiter.reserve(rules, 'ann')).rejects.toThrow(refusal);
    await expect(it.limiter.reserve(rules, 'ann', { cost: 2 })).rejects.toThrow(refusal);
    const unknown = 'a rule name in the options of reserve: got "aa": did you mean "a"?; allowed: "a", "b"';
    await expect(it.limiter.reserve(rules, 'ann', { settles: 'aa' })).rejects.toThrow(unknown);
    await expect(it.limiter.reserve(rules, 'ann', { cost: { aa: 2 } })).rejects.toThrow(unknown);
    expect(await remainingOf(it, rules)).toEqual([5, 5]);
  });
}
