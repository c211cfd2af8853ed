import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { STORES, VirtualTime, virtualStore } from '../support/virtual-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';

/** The table of docs/live-rules.md: what is left of 100 permits per minute, of which 60 were consumed 15 s ago. */
const TABLE: Record<string, { halved: number | string; doubled: number; back: number }> = {
  'sliding-window-log': { halved: '45 s', doubled: 140, back: 40 },
  'sliding-window-counter': { halved: '55.001 s', doubled: 140, back: 40 },
  'sliding-window-cells': { halved: '51 s', doubled: 140, back: 40 },
  'fixed-window': { halved: '45 s', doubled: 140, back: 40 },
  gcra: { halved: 32, doubled: 130, back: 65 },
  'token-bucket': { halved: 32, doubled: 130, back: 65 },
};

describe.each(STORES)('a changed limit, with %s', (kind) => {
  it.each(Object.entries(TABLE))(
    '%s leaves what docs/live-rules.md states when the limit is halved, doubled, or 0 and back',
    async (algorithm, { halved, doubled, back }) => {
      const time = new VirtualTime(); // Starts on a full minute.
      const store = virtualStore(kind, time);
      const limiter = new RateLimiter({ store, denyCache: false, prefix: uniquePrefix() });
      const rule = (limit: number, window = '1m') => ({ name: 'search', algorithm, limit, window }) as Rule;
      const left = async (changed: Rule): Promise<number | string> => {
        const { allowed, remaining, retryAfterMs } = await limiter.consume(changed, 'ann', { cost: 0 });
        if (remaining > 0) return remaining;
        const denied = await limiter.consume(changed, 'ann');
        expect([allowed, denied.allowed]).toEqual([true, false]);
        return `${denied.retryAfterMs! / 1000} s${retryAfterMs === 0 ? '' : '?'}`;
      };
      await limiter.consume(rule(100), 'ann', { cost: 60 });
      time.advance(15_000);
      expect((await limiter.consume(rule(0), 'ann')).allowed).toBe(false);
      const seen = {
        halved: await left(rule(50)),
        doubled: await left(rule(200)),
        back: await left(rule(100)),
        otherWindow: await left(rule(100, '1h')),
      };
      expect(seen).toEqual({ halved, doubled, back, otherWindow: 100 });
      await limiter.close();
      await store.close();
    },
  );

  it('leaves the queue of a leaky bucket as long as it is', async () => {
    const time = new VirtualTime();
    const store = virtualStore(kind, time);
    const limiter = new RateLimiter({ store, denyCache: false, prefix: uniquePrefix() });
    const rule = (limit: number) =>
      ({ name: 'search', algorithm: 'leaky-bucket', limit, window: '1m', delayAfter: limit }) as Rule;
    await limiter.consume(rule(100), 'ann', { cost: 60 });
    time.advance(15_000);
    for (const limit of [50, 200, 100]) {
      expect((await limiter.consume(rule(limit), 'ann', { cost: 0 })).resetAfterMs).toBe(21_000);
    }
    await limiter.close();
    await store.close();
  });
});
