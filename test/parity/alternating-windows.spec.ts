import { afterAll, describe, expect, it } from '@jest/globals';
import { MemoryStore, RateLimiter, type Rule } from '../../lib/index.js';
import { DEFINITIONS } from '../support/examples.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, VirtualTime, virtualStore } from '../support/virtual-store.js';

describe.each(STORES)('a fixed window on %s', (kind) => {
  const time = new VirtualTime(); // Starts on a full minute.
  const store = virtualStore(kind, time);
  afterAll(() => store.close());

  it('a fixed window is kept when a longer window on the clock ends sooner', async () => {
    const limiter = new RateLimiter({ store, denyCache: false, prefix: uniquePrefix() });
    const old: Rule = { name: 'shared', algorithm: 'fixed-window', limit: 9, window: '40s' };
    const next: Rule = { ...old, window: '60s', align: 'clock' };
    time.advance(50_000);
    expect((await limiter.consume(old, 'ann', { cost: 9 })).resetAfterMs).toBe(40_000);
    time.advance(5000);
    const denied = await limiter.consume(next, 'ann');
    expect([denied.allowed, denied.retryAfterMs]).toEqual([false, 35_000]);
    time.advance(34_999);
    for (const rule of [old, next]) expect((await limiter.consume(rule, 'ann')).allowed).toBe(false);
    time.advance(1);
    expect((await limiter.consume(next, 'ann')).allowed).toBe(true);
  });
});

/** Returns how many of ten requests per second are allowed in an hour, if versions with these windows alternate. */
async function allowedInHour(algorithm: string, windows: readonly string[]): Promise<number> {
  const time = new VirtualTime();
  const store = new MemoryStore({ clock: time.clock });
  const limiter = new RateLimiter({ store, denyCache: false });
  let allowed = 0;
  for (let nth = 0; nth < 36_000; nth++) {
    const window = windows[nth % windows.length];
    const rule = { name: 'shared', algorithm, limit: 100, window } as Rule;
    if ((await limiter.consume(rule, 'ann')).allowed) allowed++;
    time.advance(100);
  }
  await limiter.close();
  await store.close();
  return allowed;
}

describe('100 an hour and 100 a second, by turns, ten times a second', () => {
  it.each([
    { algorithm: 'sliding-window-log', most: 100, why: 'the limit' },
    { algorithm: 'sliding-window-cells', most: 100, why: 'the limit' },
    { algorithm: 'fixed-window', most: 100, why: 'the limit' },
    { algorithm: 'gcra', most: 199, why: 'the burst, and one each 36 s' },
    { algorithm: 'token-bucket', most: 199, why: 'the burst, and one each 36 s' },
    // What the documentation calls steady traffic after a burst: here, 14 of the 60 minutes are in the clock's next
    // hour.
    {
      algorithm: 'sliding-window-counter',
      most: 124,
      why: 'the limit, and 14/60 of it in the next hour; it is approximate, up to 200',
    },
  ])(
    '$algorithm allows $most in an hour when 100 an hour and 100 a second alternate, as with 100 an hour alone: $why',
    async ({ algorithm, most }) => {
      expect(await allowedInHour(algorithm, ['1h', '1s'])).toBe(most);
      expect(await allowedInHour(algorithm, ['1h'])).toBe(most);
    },
    120_000,
  );

  it.each(DEFINITIONS.filter(({ queues }) => queues).map(({ name }) => name))(
    '%s never lets a client wait longer than the slower of two rates requires',
    async (algorithm) => {
      const time = new VirtualTime();
      const store = new MemoryStore({ clock: time.clock });
      const limiter = new RateLimiter({ store, denyCache: false });
      const queue = algorithm === 'leaky-bucket' ? { queue: 9, delayAfter: 9 } : {};
      const waits: number[] = [];
      for (let nth = 0; nth < 400; nth++) {
        const window = nth % 3 === 0 ? '1s' : '10s';
        const rule = { name: 'shared', algorithm, limit: 10, window, ...queue } as Rule;
        waits.push((await limiter.consume(rule, 'ann')).retryAfterMs ?? Infinity);
        time.advance(50);
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
      expect(Math.max(...waits)).toBeGreaterThan(0);
      await limiter.close();
      await store.close();
    },
  );
});
