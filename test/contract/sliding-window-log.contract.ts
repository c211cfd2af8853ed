import { describe, expect, it } from '@jest/globals';
import type { Decision, Rule } from '../../lib/index.js';
import { expectTimeline } from '../support/timeline.js';
import type { Bench } from './limiter-bench.js';

export function slidingWindowLogContract(bench: () => Bench): void {
  describe('sliding-window-log', () => {
    const rule = {
      name: 'visits',
      algorithm: 'sliding-window-log',
      limit: 3,
      window: '10s',
    } as const satisfies Rule;

    it('returns each permit one window after it was taken', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              2      0  10000
            4000     2 | yes              0      0  10000
          9999.5     1 | no               0      1   4001
           10000     1 | yes              0      0  10000
           13999     2 | no               0      1   6001
           14000     2 | yes              0      0  10000
           14000     3 | no               0  10000  10000
           14000     4 | no               0  never  10000
           24000     0 | yes              3      0      0
           60000     3 | yes              0      0  10000
        `,
      );
    });

    it('a refund of an entry older than the newest 1,000 returns false and frees nothing; a newer one is refunded', async () => {
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

    it('makes a large cost wait for just as many hits as it needs to leave', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              2      0  10000
            1000     1 | yes              1      0  10000
            2000     1 | yes              0      0  10000
            3000     1 | no               0   7000   9000
            3000     2 | no               0   8000   9000
            3000     3 | no               0   9000   9000
           11000     2 | yes              0      0  10000
        `,
      );
    });

    it('keeps its entries when the clock steps back by up to a second', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           20000     1 | yes              2      0  10000
           19000     1 | yes              1      0  11000
           19000     2 | no               1  11000  11000
           20000     0 | yes              1      0  10000
           29999     2 | no               1      1      1
           30000     3 | yes              0      0  10000
        `,
      );
    });

    it('counts what counted for one window from now when the clock was set back, with true waits', async () => {
      await bench().expectTimeline(
        rule,
        `
              at  cost | allowed  remaining  retry  reset
           12000     1 | yes              2      0  10000
           20000     1 | yes              1      0  10000
            4000     2 | no               1  10000  10000
            5000     2 | no               1   9000   9000
            5000     1 | yes              0      0  10000
           13999     1 | no               0      1   1001
           14000     2 | yes              0      0  10000
        `,
      );
    });

    it('reports the reset of the last request that still holds permits after a refund', async () => {
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

    it('keeps its entries when the limit is lowered and raised', async () => {
      const { ask } = bench();
      await expectTimeline(
        ask(rule),
        `
              at  cost | allowed  remaining  retry  reset
               0     1 | yes              2      0  10000
            1000     2 | yes              0      0  10000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 2 }),
        `
              at  cost | allowed  remaining  retry  reset
            2000     0 | yes              0      0   9000
            2000     1 | no               0   9000   9000
           10000     1 | no               0   1000   1000
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 0 }),
        `
              at  cost | allowed  remaining  retry  reset
           10000     1 | no               0  never      0
        `,
      );
      await expectTimeline(
        ask({ ...rule, limit: 5 }),
        `
              at  cost | allowed  remaining  retry  reset
           10000     3 | yes              0      0  10000
           10000     1 | no               0   1000  10000
        `,
      );
    });
  });
}
