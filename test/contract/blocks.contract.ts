import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { EVERY_RULE } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function blocksContract(bench: () => Bench): void {
  describe.each(EVERY_RULE)('a block by $algorithm ($name)', (rule) => {
    it('lasts for the duration of the rule after a denial, and further requests do not extend it', async () => {
      const { ask, limiter } = bench();
      const hit = ask({ ...rule, block: '1h' });
      await hit(0, 5);
      expect(await limiter.peek({ ...rule, block: '1h' }, 'ann')).toMatchObject({ retryAfterMs: 3_600_000 });
      expect(await hit(0, 1)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
      expect(await hit(1_800_000, 1)).toMatchObject({ allowed: false, retryAfterMs: 1_800_000 });
      expect(await hit(3_599_999, 5)).toMatchObject({ allowed: false, retryAfterMs: 1, remaining: 0 });
      expect(await hit(3_600_000, 5)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('ends on time if it is shorter than the window, and the wait is then that of the rule', async () => {
      const { ask } = bench();
      const hit = ask({ ...rule, block: '10ms' });
      await hit(0, 5);
      const { retryAfterMs } = await hit(0, 1);
      expect(retryAfterMs).toBeGreaterThan(10);
      expect(await hit(9, 0)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await hit(10, 0)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await hit(retryAfterMs! - 1, 1)).toMatchObject({ allowed: false });
    });

    it('reports when the request is allowed: when the block has ended and permits are available', async () => {
      const { ask } = bench();
      const hit = ask({ ...rule, block: '10ms' });
      await hit(0, 5);
      const retryAfterMs = (await hit(0, 1)).retryAfterMs!;
      expect(await hit(5, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: retryAfterMs - 5 });
      expect(await hit(retryAfterMs, 1)).toMatchObject({ allowed: true });
    });

    it('by a program reports its end to a client with permits left, and otherwise when permits are available', async () => {
      const { ask, limiter } = bench();
      const blockable = { ...rule, block: 'manual' } as Rule & { block: 'manual' };
      await ask(blockable)(0, 5);
      const { retryAfterMs } = await ask(blockable)(0, 1);
      await limiter.block(blockable, 'ann', '10ms');
      expect(await ask(blockable)(0, 1)).toMatchObject({ allowed: false, retryAfterMs });
      await limiter.block(blockable, 'ann', '1h');
      expect(await ask(blockable)(0, 1)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    });

    it('is not started by a cost that can never fit, for which the client could not wait', async () => {
      const { ask } = bench();
      const hit = ask({ ...rule, block: '5m' });
      await hit(0, 1);
      const { remaining } = await hit(0, 0);
      expect(await hit(0, 100)).toMatchObject({ allowed: false, retryAfterMs: null, remaining });
      expect(await hit(0, remaining)).toMatchObject({ allowed: true });
    });

    it('reports null for a cost that can never fit, and still ends on time', async () => {
      const { ask } = bench();
      const hit = ask({ ...rule, block: '1h' });
      await hit(0, 5);
      await hit(0, 1);
      expect(await hit(1000, 100)).toMatchObject({ allowed: false, retryAfterMs: null, remaining: 0 });
      expect(await hit(3_599_999, 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await hit(3_600_000, 5)).toMatchObject({ allowed: true });
    });

    it('by a program starts at once and ends on time, and keeps the remaining permits', async () => {
      const { ask, limiter } = bench();
      const blockable = { ...rule, block: 'manual' } as Rule & { block: 'manual' };
      const hit = ask(blockable);
      await hit(0, 1);
      await limiter.block(blockable, 'ann', '1m');
      expect(await hit(0, 1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_000 });
      expect(await ask(blockable, 'bob')(0, 1)).toMatchObject({ allowed: true });
      expect(await hit(59_999.5, 1)).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await hit(60_000, 5)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await hit(60_000, 1)).toMatchObject({ allowed: false });
    });

    it('is ended by unblock, which keeps the counters and returns whether there was a block', async () => {
      const { ask, limiter } = bench();
      const blockable = { ...rule, block: 'manual' } as Rule & { block: 'manual' };
      const hit = ask(blockable);
      await hit(0, 3);
      expect(await limiter.unblock(blockable, 'ann')).toBe(false);
      await limiter.block(blockable, 'ann', '1h');
      await limiter.block(blockable, 'bob', '1h');
      expect(await hit(0, 1)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
      expect(await limiter.unblock(blockable, 'ann')).toBe(true);
      expect(await limiter.unblock(blockable, 'ann')).toBe(false);
      expect(await hit(0, 2)).toMatchObject({ allowed: true, remaining: 0 });
      expect(await hit(0, 1)).toMatchObject({ allowed: false });
      expect(await ask(blockable, 'bob')(0, 1)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    });

    it('is deleted by a reset', async () => {
      const { ask, limiter } = bench();
      const blockable: Rule = { ...rule, block: '1h' };
      await ask(blockable)(0, 5);
      await ask(blockable)(0, 1);
      await limiter.reset(blockable, 'ann');
      expect(await ask(blockable)(0, 5)).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('is started only by a denial, not by a peek or a cost that can never fit', async () => {
      const { ask, limiter } = bench();
      const blockable: Rule = { ...rule, block: '1h' };
      await ask(blockable)(0, 4);
      await limiter.peek(blockable, 'ann', { cost: 2 });
      expect(await ask(blockable)(0, 1)).toMatchObject({ allowed: true, remaining: 0 });
    });
  });

  it('a block by one rule of a request denies the request and charges no other', async () => {
    const { limiter, ask } = bench();
    const blocked = { name: 'blocked', limit: 5, window: '1m', block: 'manual' } as const;
    await limiter.block(blocked, 'ann', '1h');
    expect((await limiter.consume([...EVERY_RULE, blocked], 'ann')).allowed).toBe(false);
    expect(await ask(EVERY_RULE[0]!)(0, 5)).toMatchObject({ allowed: true });
  });
}
