import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from '../../lib/index.js';
import { EVERY_OPTION } from './every-rule.js';
import type { Bench } from './limiter-bench.js';

export function reservationContract(bench: () => Bench): void {
  describe.each(EVERY_OPTION)('a reservation by $algorithm ($name)', (rule) => {
    const left = async ({ limiter }: Bench) => (await limiter.peek(rule, 'ann', { cost: 0 })).remaining;

    // A charge in a queue cannot be reduced while another request waits behind it.
    const given = rule.algorithm === 'leaky-bucket' ? 0 : 3;

    it('refunds the unused part, once', async () => {
      const it = bench();
      const reservation = await it.limiter.reserve(rule, 'ann', { cost: 4 });
      expect([reservation.allowed, await left(it)]).toEqual([true, 1]);
      await reservation.settle(1);
      expect(await left(it)).toBe(4);
      await reservation.settle(0);
      await reservation.cancel();
      expect(await left(it)).toBe(4);
    });

    it('refunds it after later requests, unless they wait behind it in a queue', async () => {
      const it = bench();
      const reservation = await it.limiter.reserve(rule, 'ann', { cost: 4 });
      await it.other.consume(rule, 'ann');
      await reservation.settle(1);
      expect(await left(it)).toBe(given);
    });

    it('charges an overrun as debt, which is repaid first', async () => {
      const it = bench();
      const reservation = await it.limiter.reserve(rule, 'ann', { cost: 2 });
      await reservation.settle(9);
      expect(await left(it)).toBe(0);
      const denied = await it.limiter.peek(rule, 'ann');
      expect(denied.allowed).toBe(false);
      it.goTo(denied.retryAfterMs! - 1);
      expect((await it.limiter.peek(rule, 'ann')).allowed).toBe(false);
      it.goTo(denied.retryAfterMs!);
      expect((await it.limiter.consume(rule, 'ann')).allowed).toBe(true);
      it.goTo(denied.resetAfterMs + 30_000);
      expect(await left(it)).toBe(5);
    });

    it('charges work that was reserved without a cost as debt', async () => {
      const it = bench();
      const reservation = await it.limiter.reserve(rule, 'ann', { cost: 0 });
      expect([reservation.allowed, await left(it)]).toEqual([true, 5]);
      await reservation.settle(9);
      expect(await left(it)).toBe(0);
      const denied = await it.limiter.peek(rule, 'ann');
      expect(denied.allowed).toBe(false);
      it.goTo(denied.retryAfterMs!);
      expect((await it.limiter.consume(rule, 'ann')).allowed).toBe(true);
    });

    it('charges nothing for work that was reserved without a cost and cancelled', async () => {
      const it = bench();
      await (await it.limiter.reserve(rule, 'ann', { cost: 0 })).cancel();
      expect(await left(it)).toBe(5);
    });

    it('has nothing to refund when it was reserved without a cost', async () => {
      const it = bench();
      await it.limiter.consume(rule, 'ann');
      const { decision } = await it.limiter.reserve(rule, 'ann', { cost: 0 });
      expect(await it.limiter.refund(decision)).toBe(false);
      expect(await left(it)).toBe(4);
    });

    it('is refunded in full when it is cancelled', async () => {
      const it = bench();
      const before = await it.limiter.peek(rule, 'ann');
      await (await it.limiter.reserve(rule, 'ann', { cost: 5 })).cancel();
      expect(await it.limiter.peek(rule, 'ann')).toEqual(before);
    });

    it('stays charged in full when it is settled with its own cost', async () => {
      const it = bench();
      await (await it.limiter.reserve(rule, 'ann', { cost: 3 })).settle(3);
      expect(await left(it)).toBe(2);
    });

    it('expires like any other charge if it is never settled', async () => {
      const it = bench();
      const { decision } = await it.limiter.reserve(rule, 'ann', { cost: 4 });
      expect(await it.other.consume(rule, 'bob', { cost: 4 })).toMatchObject({
        resetAfterMs: decision.resetAfterMs,
      });
      it.goTo(decision.resetAfterMs - 1);
      // The counter rounds down, so the charge expires a little earlier.
      if (rule.algorithm !== 'sliding-window-counter') expect(await left(it)).toBeLessThan(5);
      it.goTo(decision.resetAfterMs);
      expect(await left(it)).toBe(5);
    });

    it('refunds nothing after it has expired, and still charges an overrun', async () => {
      const it = bench();
      const late = await it.limiter.reserve(rule, 'ann', { cost: 2 });
      const dear = await it.limiter.reserve(rule, 'bob', { cost: 2 });
      it.goTo(late.decision.resetAfterMs);
      await it.limiter.consume(rule, 'ann', { cost: 4 });
      await late.cancel();
      expect(await left(it)).toBe(1);
      await dear.settle(5);
      expect(await it.limiter.peek(rule, 'bob', { cost: 0 })).toMatchObject({ remaining: 2 });
    });

    it('charges nothing after a denial', async () => {
      const it = bench();
      await it.limiter.consume(rule, 'ann', { cost: 3 });
      const refused = await it.limiter.reserve(rule, 'ann', { cost: 3 });
      expect(refused.allowed).toBe(false);
      await refused.settle(3);
      expect(await left(it)).toBe(2);
    });

    it('rejects an invalid actual cost', async () => {
      const reservation = await bench().limiter.reserve(rule, 'ann');
      await expect(reservation.settle(-1)).rejects.toThrow(RateLimitConfigError);
    });
  });
}
