import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import type { Bench } from './limiter-bench.js';
import { places } from './places.js';

const SECOND = 1000;
const MINUTE = 60_000;
const rule = { algorithm: 'leaky-bucket', limit: 1, window: '1m', queue: 5 } as const satisfies Rule;

export function leakyQueueContract(bench: () => Bench): void {
  describe('the queue of a leaky bucket with acquire', () => {
    const acquire = places();

    it('is not joined by a call whose timeout is shorter than the wait, even if there is room', async () => {
      const { limiter } = bench();
      await limiter.consume(rule, 'ann', { cost: 2 });
      const before = await limiter.peek(rule, 'ann', { cost: 0 });
      expect(before).toMatchObject({ allowed: true, remaining: 4 });
      const refused = await acquire(limiter, rule, { maxWait: `${2 * MINUTE - 1}ms` }).answer;
      expect(refused).toMatchObject({ allowed: false, remaining: 4, delayMs: 0 });
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toEqual(before);
      acquire(limiter, rule, { maxWait: '2m' });
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({
        remaining: 3,
        resetAfterMs: 3 * MINUTE,
      });
    });

    it('waits as long as maxWait of the call, else of the rule, and is not limited by queue', async () => {
      const { limiter } = bench();
      const short: Rule = { ...rule, queue: 1, maxWait: '30s' };
      await limiter.consume(short, 'ann');
      expect(await limiter.consume(short, 'ann')).toMatchObject({ allowed: false });
      expect(await acquire(limiter, short).answer).toMatchObject({ allowed: false });
      for (const minutes of [2, 3, 4]) {
        acquire(limiter, short, { maxWait: '1h' });
        expect(await limiter.peek(short, 'ann')).toMatchObject({
          remaining: 0,
          resetAfterMs: minutes * MINUTE,
        });
      }
    });

    it('allows a call without a wait at once, even with a timeout of 0', async () => {
      const { limiter } = bench();
      const told: [boolean, number][] = [];
      for (let hit = 0; hit < 4; hit++) {
        const place = acquire(limiter, { ...rule, delayAfter: 2 }, { maxWait: '0s' });
        const { allowed, delayMs } = await place.answer;
        told.push([allowed, delayMs]);
      }
      expect(told).toEqual([true, true, true, false].map((allowed) => [allowed, 0]));
    });

    it('stays unchanged when a wait is aborted with a delayed request behind it', async () => {
      const { limiter, other, goTo } = bench();
      await limiter.consume(rule, 'ann');
      const place = acquire(limiter, rule);
      await limiter.peek(rule, 'ann');
      expect(await other.consume(rule, 'ann')).toMatchObject({ allowed: true, delayMs: 2 * MINUTE });
      goTo(10 * SECOND);
      place.giveUp('hung up');
      await expect(place.answer).rejects.toThrow('hung up');
      expect(await limiter.consume(rule, 'ann')).toMatchObject({ delayMs: 3 * MINUTE - 10 * SECOND });
    });

    it('gets back the places of waits that are aborted one after the other, the first ones first', async () => {
      const { limiter } = bench();
      await limiter.consume(rule, 'ann');
      const waits = Array.from({ length: 40 }, () => acquire(limiter, rule));
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ resetAfterMs: 41 * MINUTE });
      for (const { answer, giveUp } of waits) {
        giveUp('hung up');
        await expect(answer).rejects.toThrow('hung up');
      }
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ resetAfterMs: MINUTE });
    });

    it('gets back no place in front of a request of another process', async () => {
      const { limiter, other } = bench();
      await limiter.consume(rule, 'ann');
      const places = [acquire(limiter, rule), acquire(limiter, rule)];
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ resetAfterMs: 3 * MINUTE });
      const behind = acquire(other, rule);
      expect(await other.peek(rule, 'ann', { cost: 0 })).toMatchObject({ resetAfterMs: 4 * MINUTE });
      for (const { answer, giveUp } of [...places, behind]) {
        giveUp('hung up');
        await expect(answer).rejects.toThrow('hung up');
      }
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ resetAfterMs: 3 * MINUTE });
    });

    it('gets all permits back from an aborted wait at its end', async () => {
      const { limiter, goTo } = bench();
      await limiter.consume(rule, 'ann');
      const place = acquire(limiter, rule, { cost: 3 });
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({
        remaining: 2,
        resetAfterMs: 4 * MINUTE,
      });
      goTo(10 * SECOND);
      place.giveUp('hung up');
      await expect(place.answer).rejects.toThrow('hung up');
      expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({
        remaining: 5,
        resetAfterMs: 50 * SECOND,
      });
    });
  });
}
