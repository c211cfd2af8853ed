import { describe, expect, it } from '@jest/globals';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { Bench } from './limiter-bench.js';

const MINUTE = 60_000;
const TOKENS = { name: 'tokens', window: '1m', limit: 10_000, algorithm: 'gcra' } as const;
const REQUESTS = { name: 'requests', window: '1m', limit: 60 } as const;
const STREAMS = { name: 'streams', algorithm: 'concurrency', limit: 2, lease: '30s' } as const;
const MONTH = { name: 'month', window: 'month', limit: 1_000_000, algorithm: 'fixed-window' } as const;
const BUDGET = [TOKENS, REQUESTS, STREAMS, MONTH] as const;
const COST = { cost: { tokens: 2_000, month: 2_000 } } as const;

/** What is left of each rule, without a request. */
async function left({ other }: Bench, rules: readonly AnyRule[] = BUDGET): Promise<number[]> {
  const { decisions } = await other.peek(rules, 'ann', { cost: 0 });
  return decisions.map(({ remaining }) => remaining);
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 20));

export function budgetContract(bench: () => Bench): void {
  describe('a budget of tokens, requests, concurrent streams and a month', () => {
    it('holds its stream until it is settled by name, and keeps what is not named', async () => {
      const it = bench();
      const budget = await it.limiter.reserve(BUDGET, 'ann', COST);
      expect(budget.allowed).toBe(true);
      expect(await left(it)).toEqual([8_000, 59, 1, 998_000]);
      expect(await budget.settle({ tokens: 1_500 })).toBe(true);
      expect(await left(it)).toEqual([8_500, 59, 2, 998_000]);
    });

    it('takes nothing, and no stream, if one of its rules denies', async () => {
      const it = bench();
      await it.limiter.consume(TOKENS, 'ann', { cost: 9_000 });
      const denied = await it.limiter.reserve(BUDGET, 'ann', COST);
      expect([denied.allowed, denied.decision.rule]).toEqual([false, 'tokens']);
      expect(await left(it)).toEqual([1_000, 60, 2, 1_000_000]);
      expect([await denied.settle({ tokens: 5 }), await denied.cancel()]).toEqual([false, false]);
    });

    it('takes no tokens when all streams are held, also by hold()', async () => {
      const it = bench();
      const first = await it.limiter.reserve(BUDGET, 'ann', COST);
      const permit = await it.other.hold(STREAMS, 'ann');
      const denied = await it.limiter.reserve(BUDGET, 'ann', COST);
      expect([permit.allowed, denied.allowed, denied.decision.rule]).toEqual([true, false, 'streams']);
      expect(await left(it)).toEqual([8_000, 59, 0, 998_000]);
      await permit.release();
      expect((await it.limiter.reserve(BUDGET, 'ann', COST)).allowed).toBe(true);
      await first.cancel();
      expect(await left(it)).toEqual([8_000, 59, 1, 998_000]);
    });

    it('releases its stream once, and says whether it changed anything', async () => {
      const it = bench();
      const budget = await it.limiter.reserve([REQUESTS, STREAMS], 'ann', { cost: { requests: 1 } });
      expect(await Promise.all([budget.settle({ requests: 1 }), budget.cancel()])).toEqual([true, false]);
      expect(await budget.settle({ requests: 5 })).toBe(false);
      expect(await left(it, [REQUESTS, STREAMS])).toEqual([59, 2]);
    });

    it('keeps its charge and releases its stream at the end of the block, whatever ended it', async () => {
      const it = bench();
      const work = async () => {
        await using budget = await it.limiter.reserve(BUDGET, 'ann', COST);
        if (budget.allowed) throw new Error('the model failed');
      };
      await expect(work()).rejects.toThrow('the model failed');
      expect(await left(it)).toEqual([8_000, 59, 2, 998_000]);
    });

    it('loses its stream, and its signal aborts, when the lease ends without a renewal', async () => {
      const it = bench();
      const budget = await it.limiter.reserve([REQUESTS, STREAMS], 'ann', { cost: { requests: 1 } });
      expect(budget.signal?.aborted).toBe(false);
      it.goTo(31_000);
      expect(await left(it, [STREAMS])).toEqual([2]);
      expect(await budget.settle({ requests: 1 })).toBe(false);
    });

    it('cannot come later, since permits that are held are not delayed', async () => {
      const reserve = bench().limiter.reserve([TOKENS, STREAMS], 'ann', { settles: 'tokens', maxWait: '5s' });
      await expect(reserve).rejects.toThrow('reserve() with maxWait needs a rule whose algorithm can delay');
    });
  });

  describe('a stream that outgrows its estimate', () => {
    const start = async (it: Bench) => {
      const budget = await it.limiter.reserve([TOKENS, STREAMS], 'ann', { cost: { tokens: 2_000 } });
      const used = async (tokens: number | null | undefined) => {
        const may = budget.used({ tokens });
        await turn();
        return [may, (await left(it, [TOKENS]))[0]!] as const;
      };
      return { budget, used };
    };

    it('is charged while it runs, when it is a tenth above its reservation', async () => {
      const it = bench();
      const { budget, used } = await start(it);
      expect(await used(1_999)).toEqual([true, 8_000]);
      expect(await used(2_199)).toEqual([true, 8_000]);
      expect(await used(2_200)).toEqual([true, 7_800]);
      expect(await budget.settle({ tokens: 2_300 })).toBe(true);
      expect(await left(it, [TOKENS, STREAMS])).toEqual([7_700, 2]);
    });

    it('is charged at most once a second', async () => {
      const it = bench();
      const { used } = await start(it);
      expect(await used(2_500)).toEqual([true, 7_500]);
      expect(await used(3_500)).toEqual([true, 7_500]);
      it.time.advance(999);
      const [, before] = await used(4_000);
      it.time.advance(1);
      const [, after] = await used(4_000);
      expect(before - after).toBe(1_500);
    });

    it('has no effect with null or a smaller total, which providers send', async () => {
      const it = bench();
      const { budget, used } = await start(it);
      expect(await used(3_000)).toEqual([true, 7_000]);
      it.time.advance(1_000);
      const now = (await left(it, [TOKENS]))[0];
      for (const value of [null, undefined, 5, NaN, -1, Infinity])
        expect(await used(value)).toEqual([true, now]);
      expect(await budget.settle({ tokens: 3_000 })).toBe(true); // only the permit changed
      expect((await left(it, [TOKENS]))[0]).toBe(now);
    });

    it('reports the usage of its only rule as a number, or null', async () => {
      const it = bench();
      const budget = await it.limiter.reserve(TOKENS, 'ann', { cost: 2_000 });
      expect([budget.used(null), budget.used(undefined), budget.used(3_000)]).toEqual([true, true, true]);
      expect(await budget.settle(2_500)).toBe(true);
      expect(await left(it, [TOKENS])).toEqual([7_500]);
    });

    it('does not begin if the reservation was denied', async () => {
      const it = bench();
      await it.limiter.consume(TOKENS, 'ann', { cost: 9_000 });
      const denied = await it.limiter.reserve(TOKENS, 'ann', { cost: 2_000 });
      expect([denied.used(5), denied.used(null)]).toEqual([false, false]);
    });

    it('stops when its budget is used up, and continues when permits are available again', async () => {
      const it = bench();
      const { used } = await start(it);
      expect((await used(12_000))[1]).toBe(0);
      expect(await used(12_001)).toEqual([false, 0]);
      it.time.advance(MINUTE);
      await used(12_200);
      expect((await used(12_201))[0]).toBe(true);
    });

    it('is charged the larger of its estimate and its usage when it ends without a total', async () => {
      const it = bench();
      const { budget, used } = await start(it);
      await used(2_150);
      await budget[Symbol.asyncDispose]();
      expect(await left(it, [TOKENS, STREAMS])).toEqual([7_850, 2]);
      expect(await used(9_000)).toEqual([true, 7_850]);
    });

    it('gets back no more than was reserved when less was used than reported', async () => {
      const it = bench();
      const { budget, used } = await start(it);
      await used(5_000);
      await budget.settle({ tokens: 4_000 });
      expect(await left(it, [TOKENS])).toEqual([6_000]);
      const other = await start(it);
      await other.used(5_000);
      await other.budget.cancel();
      expect(await left(it, [TOKENS])).toEqual([3_000]);
    });
  });
}
