import { describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule } from '../../lib/index.js';
import { until } from '../support/redis/until.mjs';
import type { Bench } from './limiter-bench.js';

const rule: ConcurrencyRule = { name: 'reports', algorithm: 'concurrency', limit: 2, lease: '30s' };
/**
 * Renewals use the real clock, and leases the store's clock, which advances only when the test advances it. A process that
 * does not run for the lease loses it, as a busy machine may cause with a short one.
 */
const LEASE_MS = 1500;
const soonRenewed: ConcurrencyRule = { ...rule, lease: `${LEASE_MS}ms` };

export function concurrencyContract(bench: () => Bench): void {
  describe('concurrency', () => {
    const freeOf = async ({ limiter }: Bench) => (await limiter.peek(rule, 'ann', { cost: 0 })).remaining;

    const timeLeft = async ({ limiter }: Bench) =>
      (await limiter.peek(soonRenewed, 'ann', { cost: 0 })).resetAfterMs;

    async function isRenewed(it: Bench): Promise<void> {
      await until(async () => (await timeLeft(it)) === LEASE_MS, 'the lease to be renewed');
    }

    it('allows the limit at the same time, and the next request when one is released', async () => {
      const { limiter, other } = bench();
      const first = await limiter.hold(rule, 'ann');
      const second = await other.hold(rule, 'ann');
      expect([first.allowed, second.allowed]).toEqual([true, true]);
      const third = await limiter.hold(rule, 'ann');
      expect(third.decision).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 30_000 });
      await first.release();
      expect((await limiter.hold(rule, 'ann')).allowed).toBe(true);
      await limiter.close();
      await other.close();
    });

    it('takes as many permits as the cost, all or none, and releases all of them', async () => {
      const it = bench();
      const both = await it.limiter.hold(rule, 'ann', { cost: 2 });
      expect(await freeOf(it)).toBe(0);
      await both.release();
      const one = await it.limiter.hold(rule, 'ann');
      expect((await it.limiter.hold(rule, 'ann', { cost: 2 })).allowed).toBe(false);
      expect(await it.limiter.peek(rule, 'ann', { cost: 3 })).toMatchObject({ retryAfterMs: null });
      expect(await freeOf(it)).toBe(1);
      await one.release();
    });

    it('releases a permit once, however often and in whatever way it is released', async () => {
      const it = bench();
      const kept = await it.other.hold(rule, 'ann');
      {
        await using permit = await it.limiter.hold(rule, 'ann');
        expect(await freeOf(it)).toBe(0);
        await permit.release();
        await permit.release();
        expect(await freeOf(it)).toBe(1);
      }
      expect(await freeOf(it)).toBe(1);
      await kept.release();
      expect(await freeOf(it)).toBe(2);
    });

    it('has nothing to release after a denial', async () => {
      const it = bench();
      const held = await it.limiter.hold(rule, 'ann', { cost: 2 });
      await (await it.limiter.hold(rule, 'ann')).release();
      expect(await freeOf(it)).toBe(0);
      await held.release();
    });

    it('has lost nothing when a permit that was allowed without being counted is released', async () => {
      const { limiter } = bench();
      const shadow: ConcurrencyRule = { ...rule, name: 'shadow', limit: 1, mode: 'shadow' };
      const permits = [await limiter.hold(shadow, 'ann'), await limiter.hold(shadow, 'ann')];
      permits.push(await limiter.hold(rule, 'ann', { cost: 0 }));
      expect(await Promise.all(permits.map((permit) => permit.release()))).toEqual([true, true, true]);
    });

    it('aborts the signal of a permit before its lease ends if its limiter was closed, also of a later one', async () => {
      const { limiter } = bench();
      const early = await limiter.hold(soonRenewed, 'ann');
      const reservation = await limiter.reserve(soonRenewed, 'ann');
      await limiter.close();
      const late = await limiter.hold(soonRenewed, 'bob');
      expect([early, reservation, late].map(({ allowed, signal }) => [allowed, signal!.aborted])).toEqual(
        Array.from({ length: 3 }, () => [true, false]),
      );
      await until(
        () => [early, reservation, late].every(({ signal }) => signal!.aborted),
        'the signals to abort',
      );
      expect([await early.release(), await late.release()]).toEqual([false, false]);
    });

    it('keeps a permit while its holder lives, long beyond the lease', async () => {
      const it = bench();
      const permit = await it.limiter.hold(soonRenewed, 'ann');
      for (let times = 0; times < 4; times++) {
        it.time.advance(LEASE_MS - 1);
        expect([times, await freeOf(it)]).toEqual([times, 1]);
        await isRenewed(it);
      }
      await permit.release();
      expect(await freeOf(it)).toBe(2);
    });

    it('returns a permit of a dead holder when its lease ends, and not before', async () => {
      const it = bench();
      await it.limiter.hold(soonRenewed, 'ann');
      it.time.advance(100);
      await isRenewed(it);
      await it.limiter.close();
      it.time.advance(LEASE_MS - 1);
      expect(await freeOf(it)).toBe(1);
      it.time.advance(1);
      expect(await freeOf(it)).toBe(2);
    });

    it('frees no permit of others by a late release', async () => {
      const it = bench();
      const late = await it.limiter.hold(rule, 'ann', { cost: 2 });
      await it.limiter.close();
      it.time.advance(30_000);
      const now = await it.other.hold(rule, 'ann', { cost: 2 });
      expect(now.allowed).toBe(true);
      await late.release();
      expect(await freeOf(it)).toBe(0);
      await now.release();
      expect(await freeOf(it)).toBe(2);
    });

    it('aborts the signal of a holder that has lost its permit, and no other', async () => {
      const it = bench();
      const lost = await it.limiter.hold(soonRenewed, 'ann');
      const kept = await it.limiter.hold(soonRenewed, 'bob');
      await it.limiter.reset(soonRenewed, 'ann');
      await until(() => lost.signal.aborted, 'the loss to be noticed');
      expect([lost.signal.aborted, kept.signal.aborted]).toEqual([true, false]);
      await lost.release();
      await kept.release();
    });

    it('is empty after a reset, and earlier permits free no others', async () => {
      const it = bench();
      const before = await it.limiter.hold(rule, 'ann', { cost: 2 });
      await it.limiter.reset(rule, 'ann');
      const after = await it.limiter.hold(rule, 'ann');
      await before.release();
      expect(await freeOf(it)).toBe(1);
      await after.release();
    });
  });
}
