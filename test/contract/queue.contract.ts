import { afterEach, describe, expect, it } from '@jest/globals';
import type { ConcurrencyRule, Permit } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import type { WaitOptions } from '../../lib/limiter/rate-limiter.options.js';
import { until } from '../support/redis/until.mjs';
import type { Bench } from './limiter-bench.js';

const rule: ConcurrencyRule = { name: 'reports', algorithm: 'concurrency', limit: 2, lease: '30s' };
const LONG = 60_000;

export function queueContract(bench: () => Bench): void {
  describe('a hold that waits', () => {
    let served: string[];
    let open: RateLimiter[] = [];
    afterEach(async () => {
      await Promise.all(open.splice(0).map((limiter) => limiter.close()));
    });

    /** A bench whose holds are noted when they are served. Calls of one store arrive in the order in which they are made. */
    function queue() {
      const it = bench();
      served = [];
      open = [it.limiter, it.other];
      const join = (name: string, options: WaitOptions = {}, by = it.limiter, of = rule) => {
        const held = by.hold(of, 'ann', { maxWait: `${LONG}ms`, ...options });
        held.then(
          ({ allowed }) => allowed && served.push(name),
          () => undefined,
        );
        return held;
      };
      const free = async () => (await it.limiter.peek(rule, 'ann', { cost: 0 })).remaining;
      const isServed = (...names: string[]) =>
        until(() => served.length >= names.length, `${names.join()} to be served`).then(() =>
          expect(served).toEqual(names),
        );
      return { ...it, join, free, isServed };
    }

    const allowed = (permits: readonly Permit[]) => permits.map((permit) => permit.allowed);

    it('is served when a permit is released, by any process, first come first served', async () => {
      const { limiter, other, join, free, isServed } = queue();
      const held = [await limiter.hold(rule, 'ann'), await other.hold(rule, 'ann')];
      const waits = ['a', 'b', 'c', 'd'].map((name, index) => join(name, {}, index % 2 ? other : limiter));
      expect(await free()).toBe(0);
      expect(served).toEqual([]);
      await held[1]!.release();
      await isServed('a');
      await held[0]!.release();
      await isServed('a', 'b');
      await (await waits[1]!).release();
      await isServed('a', 'b', 'c');
      await (await waits[0]!).release();
      await isServed('a', 'b', 'c', 'd');
      for (const wait of waits.slice(2)) expect(await (await wait).release()).toBe(true);
      expect(await free()).toBe(2);
    });

    it('is not overtaken by a hold that does not wait, nor by one that takes fewer permits', async () => {
      const { limiter, other, join, free, isServed } = queue();
      const held = await limiter.hold(rule, 'ann');
      const both = join('both', { cost: 2 });
      const one = join('one', {}, other);
      expect(await free()).toBe(0); // One is free, and it is not for who comes now.
      expect((await other.hold(rule, 'ann')).allowed).toBe(false);
      expect(served).toEqual([]);
      await held.release();
      await isServed('both');
      await (await both).release();
      await isServed('both', 'one');
      await (await one).release();
      expect(await free()).toBe(2);
    });

    it('serves as many at once as a release has permits for', async () => {
      const { limiter, join, isServed } = queue();
      const both = await limiter.hold(rule, 'ann', { cost: 2 });
      const waits = ['a', 'b', 'c'].map((name) => join(name));
      await both.release();
      await isServed('a', 'b');
      await (await waits[0]!).release();
      await isServed('a', 'b', 'c');
      expect(allowed(await Promise.all(waits))).toEqual([true, true, true]);
    });

    it('is denied when its time is over, and leaves the queue', async () => {
      const { limiter, join, free, isServed } = queue();
      const both = await limiter.hold(rule, 'ann', { cost: 2 });
      const late = await join('late', { maxWait: '20ms' });
      expect(late.decision).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 30_000 });
      expect(await late.release()).toBe(false);
      const next = join('next');
      await both.release();
      await isServed('next');
      await (await next).release();
      expect(await free()).toBe(2);
    });

    it('continues with the next request when the first one is aborted', async () => {
      const { limiter, join, free, isServed } = queue();
      const one = await limiter.hold(rule, 'ann');
      const controller = new AbortController();
      const both = join('both', { cost: 2, signal: controller.signal });
      const next = join('next');
      await free();
      controller.abort(new Error('hung up'));
      await expect(both).rejects.toThrow('hung up');
      await isServed('next');
      await (await next).release();
      expect(await one.release()).toBe(true);
      expect(await free()).toBe(2);
    });

    it('releases a permit that it gets at the moment of its abort', async () => {
      const { limiter, other, join, free, isServed } = queue();
      for (let times = 0; times < 20; times++) {
        const held = await limiter.hold(rule, 'ann', { cost: 2 });
        const controller = new AbortController();
        const gone = join('gone', { signal: controller.signal, cost: 2 }, other);
        const next = join('next', { cost: 2 }, other);
        await free();
        const released = held.release();
        controller.abort(new Error('hung up'));
        await Promise.all([expect(gone).rejects.toThrow('hung up'), released]);
        await isServed('next');
        await (await next).release();
        served = [];
      }
      expect(await free()).toBe(2);
    });

    it('is not joined after an earlier abort', async () => {
      const { limiter, join, free } = queue();
      await limiter.hold(rule, 'ann');
      await expect(join('late', { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow(
        'too late',
      );
      expect(await free()).toBe(1);
    });

    it('is denied at once when the queue is full, or if its cost can never fit', async () => {
      const { limiter, join } = queue();
      const short: ConcurrencyRule = { ...rule, queue: 2 };
      await limiter.hold(short, 'ann', { cost: 2 });
      for (const name of ['a', 'b']) void join(name, {}, limiter, short);
      expect((await join('c', {}, limiter, short)).allowed).toBe(false);
      expect((await join('d', { cost: 3 }, limiter, short)).decision.retryAfterMs).toBeNull();
      expect((await join('e', {}, limiter, { ...rule, queue: 0 })).allowed).toBe(false);
    });

    it('is served when the holder has died, at the end of the lease', async () => {
      const { limiter, time, join, isServed } = queue();
      const brief: ConcurrencyRule = { ...rule, lease: '50ms' };
      const { decision } = await limiter.hold(brief, 'ann', { cost: 2 });
      await limiter.close(); // Nobody renews any more.
      const { other } = queueOf(open);
      void join('a', {}, other, brief);
      await other.peek(brief, 'ann');
      time.advance(decision.resetAfterMs);
      await isServed('a');
    });

    it('continues to wait after a reset, in the new queue', async () => {
      const { limiter, join, isServed } = queue();
      await limiter.hold(rule, 'ann', { cost: 2 });
      void join('a');
      await limiter.reset(rule, 'ann');
      await isServed('a');
    });

    it.each([-1, NaN, 60])('is no hold with a longest wait of %p', async (maxWait) => {
      const { join } = queue();
      await expect(join('a', { maxWait: maxWait as unknown as '1s' })).rejects.toThrow('maxWait');
    });

    const queueOf = ([, other]: readonly RateLimiter[]) => ({ other: other! });
  });
}
