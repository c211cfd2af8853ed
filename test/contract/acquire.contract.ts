import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError, type QueueRule } from '../../lib/index.js';
import type { Bench } from './limiter-bench.js';
import { places } from './places.js';

const HOUR = 3_600_000;
const quota = { limit: 1, window: '1h' } as const;

/** One permit per hour and one at once, and when to retry after a timeout that is one millisecond too short. */
const RULES: readonly { readonly algorithm: string; slow: QueueRule }[] = [
  { algorithm: 'token-bucket', slow: { ...quota, algorithm: 'token-bucket', burst: 1 } },
  { algorithm: 'gcra', slow: { ...quota, algorithm: 'gcra', burst: 1 } },
  { algorithm: 'leaky-bucket', slow: { ...quota, algorithm: 'leaky-bucket', queue: 0 } },
];

export function acquireContract(bench: () => Bench): void {
  describe.each(RULES)('a place acquired by $algorithm', ({ slow }) => {
    const quick: QueueRule = { ...slow, window: '20ms' };
    const acquire = places();

    it('is waited for as long as was known when it was asked for, first come first served', async () => {
      const { limiter, other } = bench();
      const order: string[] = [];
      const waits = [limiter, other, other, limiter].map(async (each, index) => {
        const { delayMs } = await each.acquire(quick, 'ann');
        order.push(`${index}: ${delayMs}`);
      });
      await Promise.all(waits);
      expect(order).toEqual(['0: 0', '1: 20', '2: 40', '3: 60']);
    });

    it('is refused at once if it is further away than the timeout, and takes nothing', async () => {
      const { limiter } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await limiter.peek(slow, 'ann');
      const refused = await acquire(limiter, slow, { timeoutMs: HOUR - 1 }).answer;
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: 1, delayMs: 0 });
      expect(await acquire(limiter, slow, { timeoutMs: 0 }).answer).toMatchObject({ allowed: false });
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('is had by who waits for just as long, or comes back when told to', async () => {
      const { limiter, goTo } = bench();
      const isHad = async (timeoutMs: number) => {
        const { resetAfterMs } = await limiter.peek(slow, 'ann');
        acquire(limiter, slow, { timeoutMs });
        return (await limiter.peek(slow, 'ann')).resetAfterMs > resetAfterMs;
      };
      await limiter.acquire(slow, 'ann');
      expect(await isHad(HOUR - 1)).toBe(false);
      goTo(1);
      expect(await isHad(HOUR - 1)).toBe(true);
      goTo(HOUR + 1);
      const { resetAfterMs } = await limiter.peek(slow, 'ann');
      expect(await isHad(resetAfterMs)).toBe(true);
    });

    it('is refused for good if it can never fit', async () => {
      const refused = await acquire(bench().limiter, slow, { cost: 2 }).answer;
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: null });
    });

    it('is not taken from who waits for it by a hit that does not wait', async () => {
      const { limiter, other, goTo } = bench();
      await limiter.acquire(slow, 'ann');
      acquire(limiter, slow);
      expect(await other.consume(slow, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 2 * HOUR });
      goTo(HOUR); // A permit is available, but it belongs to an earlier request.
      expect(await other.consume(slow, 'ann')).toMatchObject({ allowed: false, retryAfterMs: HOUR });
    });

    it('is given back when it is given up while nobody stands behind it', async () => {
      const { limiter } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await limiter.peek(slow, 'ann');
      const place = acquire(limiter, slow);
      await limiter.peek(slow, 'ann');
      place.giveUp('hung up');
      await expect(place.answer).rejects.toThrow('hung up');
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('is not given back when somebody stands behind it, whose wait is known', async () => {
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

    it('is not even asked for after an abort', async () => {
      const { limiter } = bench();
      const signal = AbortSignal.abort(new Error('too late'));
      await expect(limiter.acquire(slow, 'ann', { signal })).rejects.toThrow('too late');
      expect(await limiter.peek(slow, 'ann')).toMatchObject({ remaining: 1 });
    });

    it.each([-1, NaN, '1s'])('is not asked for with a timeout of %p', async (timeoutMs) => {
      const asked = acquire(bench().limiter, slow, { timeoutMs: timeoutMs as number });
      await expect(asked.answer).rejects.toThrow(RateLimitConfigError);
    });
  });
}
