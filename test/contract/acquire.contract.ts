import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError, type Rule } from '../../lib/index.js';
import { everyRule } from './every-rule.js';
import type { Bench } from './limiter-bench.js';
import { places } from './places.js';

const HOUR = 3_600_000;
const quota = { limit: 1, window: '1h' } as const;

/** One permit per hour and one at once, and when to retry after a timeout that is one millisecond too short. */
const RULES: readonly { readonly algorithm: string; slow: Rule }[] = [
  { algorithm: 'token-bucket', slow: { ...quota, algorithm: 'token-bucket', burst: 1 } },
  { algorithm: 'gcra', slow: { ...quota, algorithm: 'gcra', burst: 1 } },
  { algorithm: 'leaky-bucket', slow: { ...quota, algorithm: 'leaky-bucket', queue: 0 } },
];

/** With a short window, so that the delays of a leaky bucket are short. */
const FIVE_PER_100_MS = everyRule({ limit: 5, windowMs: 100 });

export function acquireContract(bench: () => Bench): void {
  describe.each(RULES)('acquire with $algorithm', ({ slow }) => {
    const quick: Rule = { ...slow, window: '20ms' };
    const acquire = places();

    it('waits for the reported time, first come, first served', async () => {
      const { limiter, other } = bench();
      const order: string[] = [];
      const waits = [limiter, other, other, limiter].map(async (each, index) => {
        const { delayMs } = await each.acquire(quick, 'ann');
        order.push(`${index}: ${delayMs}`);
      });
      await Promise.all(waits);
      expect(order).toEqual(['0: 0', '1: 20', '2: 40', '3: 60']);
    });

    it('is denied at once if the wait would exceed the timeout, and charges nothing', async () => {
      const { limiter } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await limiter.peek(slow, 'ann');
      const refused = await acquire(limiter, slow, { maxWait: `${HOUR - 1}ms` }).answer;
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: 1, delayMs: 0 });
      expect(await acquire(limiter, slow, { maxWait: '0s' }).answer).toMatchObject({ allowed: false });
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('is denied when its limiter closes, and charges nothing', async () => {
      const { limiter, other } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await other.peek(slow, 'ann');
      const waiting = acquire(limiter, slow).answer;
      await limiter.close();
      expect(await waiting).toMatchObject({ allowed: false, retryAfterMs: HOUR, delayMs: 0 });
      expect(await limiter.acquire(slow, 'ann')).toMatchObject({ allowed: false });
      expect(await other.peek(slow, 'ann')).toEqual(before);
    });

    it('is allowed with a timeout equal to the wait, also after the reported retryAfter', async () => {
      const { limiter, goTo } = bench();
      const isHad = async (milliseconds: number) => {
        const { resetAfterMs } = await limiter.peek(slow, 'ann', { cost: 0 });
        acquire(limiter, slow, { maxWait: `${milliseconds}ms` });
        return (await limiter.peek(slow, 'ann', { cost: 0 })).resetAfterMs > resetAfterMs;
      };
      await limiter.acquire(slow, 'ann');
      expect(await isHad(HOUR - 1)).toBe(false);
      goTo(1);
      expect(await isHad(HOUR - 1)).toBe(true);
      goTo(HOUR + 1);
      const { resetAfterMs } = await limiter.peek(slow, 'ann', { cost: 0 });
      expect(await isHad(resetAfterMs)).toBe(true);
    });

    it('is denied with retryAfterMs null if the cost can never fit', async () => {
      const refused = await acquire(bench().limiter, slow, { cost: 2 }).answer;
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: null });
    });

    it('keeps its permit when a hit that does not wait arrives', async () => {
      const { limiter, other, goTo } = bench();
      await limiter.acquire(slow, 'ann');
      acquire(limiter, slow);
      expect(await other.consume(slow, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 2 * HOUR });
      goTo(HOUR); // A permit is available, but it belongs to an earlier request.
      expect(await other.consume(slow, 'ann')).toMatchObject({ allowed: false, retryAfterMs: HOUR });
    });

    it('refunds its permit after an abort while no request waits behind it', async () => {
      const { limiter } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await limiter.peek(slow, 'ann');
      const place = acquire(limiter, slow);
      await limiter.peek(slow, 'ann');
      place.giveUp('hung up');
      await expect(place.answer).rejects.toThrow('hung up');
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('refunds no permit after an abort while another request waits behind it', async () => {
      const { limiter, other } = bench();
      await limiter.acquire(slow, 'ann');
      const ahead = acquire(limiter, slow);
      acquire(other, slow);
      const before = await limiter.peek(slow, 'ann');
      expect(before).toMatchObject({ resetAfterMs: 3 * HOUR });
      ahead.giveUp('hung up');
      await expect(ahead.answer).rejects.toThrow('hung up');
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('charges nothing after an abort before the call', async () => {
      const { limiter } = bench();
      const signal = AbortSignal.abort(new Error('too late'));
      await expect(limiter.acquire(slow, 'ann', { signal })).rejects.toThrow('too late');
      expect(await limiter.peek(slow, 'ann', { cost: 0 })).toMatchObject({ remaining: 1 });
    });

    it.each([-1, 0, NaN, 60, '60', '-1s'])('rejects a longest wait of %p', async (maxWait) => {
      const asked = acquire(bench().limiter, slow, { maxWait: maxWait as '1s' });
      await expect(asked.answer).rejects.toThrow(RateLimitConfigError);
    });
  });

  describe.each(RULES.filter(({ algorithm }) => algorithm !== 'leaky-bucket'))(
    'acquire with $algorithm and an overdraft',
    ({ slow }) => {
      const lending = { ...slow, overdraft: true } as Rule;

      it('accepts a cost above the burst, which later requests wait for', async () => {
        const { limiter, other, goTo } = bench();
        expect(await limiter.acquire(lending, 'ann', { cost: 3 })).toMatchObject({
          allowed: true,
          delayMs: 0,
        });
        expect(await other.consume(lending, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 3 * HOUR });
        expect(await other.reserve(lending, 'ann', { cost: 2, maxWait: '1d' })).toMatchObject({
          delayMs: 3 * HOUR,
        });
        expect(await limiter.reserve(lending, 'ann', { maxWait: '1d' })).toMatchObject({ delayMs: 5 * HOUR });
        goTo(6 * HOUR);
        expect(await limiter.consume(lending, 'ann')).toMatchObject({ allowed: true });
      });

      it('refunds a debt after the reservation is cancelled', async () => {
        const { limiter } = bench();
        const reservation = await limiter.reserve(lending, 'ann', { cost: 3, maxWait: '1d' });
        await reservation.cancel();
        expect(await limiter.peek(lending, 'ann', { cost: 0 })).toMatchObject({
          remaining: 1,
          resetAfterMs: 0,
        });
      });

      it('denies a request above the burst that does not wait', async () => {
        const refused = await bench().limiter.consume(lending, 'ann', { cost: 2 });
        expect(refused).toMatchObject({ allowed: false, retryAfterMs: null });
      });
    },
  );

  describe.each(FIVE_PER_100_MS)('acquire by a blocked subject with $algorithm ($name)', (rule) => {
    const blockable = { ...rule, block: 'manual' } as Rule & { block: 'manual' };
    const acquire = places();

    it('waits for the end of the block, first come, first served, and charges its permits then', async () => {
      const { limiter, goTo } = bench();
      await limiter.block(blockable, 'ann', '50ms');
      const order: string[] = [];
      const waits = ['first', 'second'].map(async (name) => {
        const { allowed } = await limiter.acquire(blockable, 'ann', { maxWait: '10s' });
        order.push(`${name}: ${allowed}`);
      });
      expect(await limiter.consume(blockable, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 50 });
      goTo(50);
      await Promise.all(waits);
      expect(order).toEqual(['first: true', 'second: true']);
      expect(await limiter.consume(blockable, 'ann', { cost: 0 })).toMatchObject({ remaining: 3 });
    });

    it('is denied at once if the block outlasts the timeout', async () => {
      const { limiter } = bench();
      await limiter.block(blockable, 'ann', '5s');
      const refused = await limiter.acquire(blockable, 'ann', { maxWait: '4999ms' });
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: 5000 });
      const tooLarge = await limiter.acquire(blockable, 'ann', { cost: 100, maxWait: '4999ms' });
      expect(tooLarge).toMatchObject({ allowed: false });
    });

    it('throws the reason of an abort during the block, and charges nothing', async () => {
      const { limiter, goTo } = bench();
      await limiter.block(blockable, 'ann', '1m');
      const place = acquire(limiter, blockable, { maxWait: '1h' });
      await limiter.consume(blockable, 'ann');
      place.giveUp('hung up');
      await expect(place.answer).rejects.toThrow('hung up');
      goTo(60_000);
      expect(await limiter.consume(blockable, 'ann', { cost: 5 })).toMatchObject({ allowed: true });
    });

    it('starts no block with a denial', async () => {
      const { limiter } = bench();
      const blocking: Rule = { ...rule, block: '1h' };
      await limiter.consume(blocking, 'ann', { cost: 5 });
      expect(await limiter.acquire(blocking, 'ann', { maxWait: '1ms' })).toMatchObject({ allowed: false });
      expect(await limiter.consume(blocking, 'ann', { cost: 0 })).toMatchObject({ allowed: true });
    });
  });

  describe.each(RULES)('acquire by a blocked subject with $algorithm', ({ slow }) => {
    const blockable = { ...slow, block: 'manual' } as Rule & { block: 'manual' };
    const acquire = places();

    it('is allowed soon after a reset of the counter with its block', async () => {
      const { limiter } = bench();
      await limiter.block(blockable, 'ann', '1h');
      const { answer } = acquire(limiter, blockable, { maxWait: '2h' });
      await limiter.consume(blockable, 'ann'); // The request before it was sent earlier.
      await limiter.reset(blockable, 'ann');
      expect(await answer).toMatchObject({ allowed: true });
    });
  });
}
