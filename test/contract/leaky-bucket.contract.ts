import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import type { Bench } from './limiter-bench.js';

export function leakyBucketContract(bench: () => Bench): void {
  describe('leaky-bucket', () => {
    const rule = { algorithm: 'leaky-bucket', limit: 1, window: '1s', queue: 3 } as const satisfies Rule;

    /** Returns the delay of each of several simultaneous hits, `no` for a denied one. */
    async function delaysOf(hits: number, each: Rule, { limiter }: Bench): Promise<(number | 'no')[]> {
      const delays: (number | 'no')[] = [];
      for (let hit = 0; hit < hits; hit++) {
        const { allowed, delayMs } = await limiter.consume(each, 'ann');
        delays.push(allowed ? delayMs : 'no');
      }
      return delays;
    }

    it('delays early requests until their turn, and denies requests when the queue is full', async () => {
      expect(await delaysOf(6, rule, bench())).toEqual([0, 1000, 2000, 3000, 'no', 'no']);
    });

    it('does not delay the first delayAfter permits, like delay in nginx', async () => {
      expect(await delaysOf(5, { ...rule, delayAfter: 2 }, bench())).toEqual([0, 0, 0, 1000, 'no']);
    });

    it('delays no request with delayAfter equal to queue, like nodelay in nginx', async () => {
      expect(await delaysOf(5, { ...rule, delayAfter: 3 }, bench())).toEqual([0, 0, 0, 0, 'no']);
    });

    it('denies requests that would be delayed longer than maxWait', async () => {
      expect(await delaysOf(5, { ...rule, maxWait: '2s' }, bench())).toEqual([0, 1000, 2000, 'no', 'no']);
    });

    it('delays no request when the clock steps forward, and keeps the queue when it steps back', async () => {
      const it = bench();
      it.goTo(20_000);
      expect(await delaysOf(2, rule, it)).toEqual([0, 1000]);
      it.goTo(19_000);
      expect(await delaysOf(2, rule, it)).toEqual([3000, 'no']);
      it.goTo(60_000);
      expect(await delaysOf(2, rule, it)).toEqual([0, 1000]);
    });
  });
}
