import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError, type QueueRule } from '../../lib/index.js';
import type { Bench } from './limiter-bench.js';

const ALGORITHMS = ['token-bucket', 'gcra'] as const;

export function acquireContract(bench: () => Bench): void {
  describe.each(ALGORITHMS)('a place acquired by %s', (algorithm) => {
    const quick: QueueRule = { algorithm, limit: 1, window: '20ms', burst: 1 };
    const slow: QueueRule = { algorithm, limit: 1, window: '1h', burst: 1 };

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
      const refused = await limiter.acquire(slow, 'ann', { timeoutMs: 3_599_999 });
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: 3_600_000, delayMs: 0 });
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('is refused for good if it can never fit', async () => {
      const refused = await bench().limiter.acquire(slow, 'ann', { cost: 2 });
      expect(refused).toMatchObject({ allowed: false, retryAfterMs: null });
    });

    it('is given back by an abort while nobody stands behind it', async () => {
      const { limiter } = bench();
      await limiter.acquire(slow, 'ann');
      const before = await limiter.peek(slow, 'ann');
      const abort = new AbortController();
      const waiting = limiter.acquire(slow, 'ann', { signal: abort.signal });
      await limiter.peek(slow, 'ann');
      abort.abort(new Error('hung up'));
      await expect(waiting).rejects.toThrow('hung up');
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
    });

    it('is not given back by an abort when somebody stands behind it, whose wait is known', async () => {
      const { limiter, other } = bench();
      await limiter.acquire(slow, 'ann');
      const [first, second] = [new AbortController(), new AbortController()];
      const ahead = limiter.acquire(slow, 'ann', { signal: first.signal });
      const behind = other.acquire(slow, 'ann', { signal: second.signal });
      const before = await limiter.peek(slow, 'ann');
      expect(before).toMatchObject({ resetAfterMs: 3 * 3_600_000 });
      first.abort(new Error('hung up'));
      await expect(ahead).rejects.toThrow('hung up');
      expect(await limiter.peek(slow, 'ann')).toEqual(before);
      second.abort(new Error('over'));
      await expect(behind).rejects.toThrow('over');
    });

    it('is not even asked for after an abort', async () => {
      const { limiter } = bench();
      const signal = AbortSignal.abort(new Error('too late'));
      await expect(limiter.acquire(slow, 'ann', { signal })).rejects.toThrow('too late');
      expect(await limiter.peek(slow, 'ann')).toMatchObject({ remaining: 1 });
    });

    it.each([-1, NaN, '1s'])('is not asked for with a timeout of %p', async (timeoutMs) => {
      const asked = bench().limiter.acquire(slow, 'ann', { timeoutMs: timeoutMs as number });
      await expect(asked).rejects.toThrow(RateLimitConfigError);
    });
  });
}
