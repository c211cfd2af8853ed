import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { BaseStore, HitResult } from '../../lib/store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { until } from '../support/redis/until.mjs';

/** A request that waits in vain would otherwise wait for the end of its window. */
jest.setTimeout(15_000);

const LIMIT = 3;
const ENTRIES = 12;
const quota = { limit: LIMIT, window: '100ms' } as const;

const RULES: readonly Rule[] = [
  { ...quota, name: 'fixed', algorithm: 'fixed-window' },
  { ...quota, name: 'log', algorithm: 'sliding-window-log' },
  { ...quota, name: 'counter', algorithm: 'sliding-window-counter' },
  { ...quota, name: 'cells', algorithm: 'sliding-window-cells' },
];

const slow: Rule = { name: 'slow', algorithm: 'sliding-window-log', limit: 1, window: '1h' };

describe.each(['memory', 'redis'] as const)('acquire for permits of a window, on %s', (kind) => {
  let store: BaseStore;
  let limiter: RateLimiter;
  let tries: HitResult[] = [];

  beforeAll(async () => {
    store = kind === 'memory' ? new MemoryStore() : await openRedisStore();
    const decide: BaseStore['decide'] = (hits, options) => {
      const results = store.decide(hits, options);
      void Promise.resolve(results).then(([result]) => tries.push(result!));
      return results;
    };
    const counting = Object.assign(Object.create(store) as BaseStore, { decide });
    limiter = new RateLimiter({ store: counting, prefix: uniquePrefix(), denyCache: false });
  });

  afterAll(async () => {
    await limiter.close();
    await store.close();
  });

  it.each(RULES)(
    '$name: waits until they are available, in the order of arrival, without polling',
    async (rule) => {
      tries = [];
      const order: number[] = [];
      const wait = async (nth: number) => {
        const { allowed } = await limiter.acquire(rule, 'ann');
        if (allowed) order.push(nth);
      };
      await Promise.all(Array.from({ length: ENTRIES }, (_, nth) => wait(nth)));
      expect(order).toEqual(Array.from({ length: ENTRIES }, (_, nth) => nth));
      expect(tries.length).toBeLessThanOrEqual(2 * ENTRIES + 2);
      if (rule.name !== 'log') return;
      const at = tries.filter(({ allowed }) => allowed).map(({ now }) => now);
      const inOne = at.map((start) => at.filter((each) => each >= start && each < start + 100_000).length);
      expect(Math.max(...inOne)).toBe(LIMIT);
    },
  );

  it('is denied at once if the wait would exceed the timeout, also behind others', async () => {
    await limiter.acquire(slow, 'ann');
    const denied = await limiter.acquire(slow, 'ann', { maxWait: '1s' });
    expect(denied).toMatchObject({ allowed: false, remaining: 0 });
    expect(denied.retryAfterMs).toBeGreaterThan(3_500_000);
    const controller = new AbortController();
    tries = [];
    const first = limiter.acquire(slow, 'ann', { signal: controller.signal });
    const ended = expect(first).rejects.toThrow('hung up');
    await until(() => tries.length > 0 || kind === 'memory', 'the first to wait');
    expect((await limiter.acquire(slow, 'ann', { maxWait: '1s' })).allowed).toBe(false);
    controller.abort(new Error('hung up'));
    await ended;
    expect((await limiter.acquire(slow, 'ann', { maxWait: '0s' })).allowed).toBe(false);
  });

  it('is denied at once if the cost can never fit, and ends behind others by its timeout or an abort', async () => {
    expect((await limiter.acquire(slow, 'bob', { cost: 2 })).retryAfterMs).toBeNull();
    await limiter.acquire(slow, 'bob');
    const controller = new AbortController();
    const { signal } = controller;
    const waits = [1, 2, 3].map(() => limiter.acquire(slow, 'bob', { signal }));
    controller.abort(new Error('hung up'));
    await Promise.all(waits.map((wait) => expect(wait).rejects.toThrow('hung up')));
    await limiter.reset(slow, 'bob');
    expect((await limiter.acquire(slow, 'bob')).allowed).toBe(true);
  });

  it('is allowed if permits are free when its timeout ends while the reply for a request ahead is pending', async () => {
    const ten: Rule = { ...slow, name: 'ten', limit: 10 };
    const subjects = Array.from({ length: 11 }, () => 'ann');
    const decisions = await Promise.all(subjects.map((ann) => limiter.acquire(ten, ann, { maxWait: '0s' })));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
    expect(decisions.find(({ allowed }) => !allowed)!.retryAfterMs).toBeGreaterThan(3_500_000);
  });

  it('starts no block, unlike a denied consume', async () => {
    const blocking: Rule = { ...quota, name: 'blocking', algorithm: 'sliding-window-log', block: '1h' };
    for (let nth = 0; nth <= LIMIT; nth++) {
      expect((await limiter.acquire(blocking, 'ann')).allowed).toBe(true);
    }
  });

  it('is allowed soon after a reset of the counter', async () => {
    await limiter.acquire(slow, 'cleared');
    const waits = limiter.acquire(slow, 'cleared');
    await limiter.reset(slow, 'cleared');
    expect(await waits).toMatchObject({ allowed: true });
  });

  it('is not denied for the wait of a request that has left', async () => {
    const two = { ...slow, name: 'two', limit: 2 };
    const [never, next] = [limiter.acquire(two, 'ann', { cost: 3 }), limiter.acquire(two, 'ann')];
    expect(await never).toMatchObject({ allowed: false, retryAfterMs: null });
    const last = limiter.acquire(two, 'ann', { maxWait: '5s' });
    expect([await next, await last]).toMatchObject([{ allowed: true }, { allowed: true }]);
  });

  it('ends with a denial when the limiter is closed', async () => {
    const closing = new RateLimiter({ store, prefix: uniquePrefix(), denyCache: false });
    await closing.acquire(slow, 'ann');
    const waits = [closing.acquire(slow, 'ann'), closing.acquire(slow, 'ann')];
    await closing.peek(slow, 'ann');
    await closing.close();
    expect(await Promise.all(waits)).toMatchObject([{ allowed: false }, { allowed: false }]);
  });
});

describe('reserve with maxWait', () => {
  const rule = { algorithm: 'gcra', limit: 1, window: '1s', burst: 1 } as const;
  let store: MemoryStore;
  let limiter: RateLimiter;

  beforeEach(() => {
    store = new MemoryStore({ clock: () => 1_700_000_040_000 });
    limiter = new RateLimiter({ store });
  });
  afterEach(async () => {
    await limiter.close();
    await store.close();
  });

  const later = (cost = 1) => limiter.reserve(rule, 'ann', { cost, maxWait: '1h' });

  it('returns the delay of permits that it has charged, and refunds them when it is cancelled', async () => {
    const delays: number[] = [];
    for (let nth = 0; nth < 3; nth++) delays.push((await later()).delayMs);
    expect(delays).toEqual([0, 1000, 2000]);
    const tooFar = await limiter.reserve(rule, 'ann', { maxWait: '2999ms' });
    expect([tooFar.allowed, tooFar.delayMs, await tooFar.cancel()]).toEqual([false, 0, false]);
    for (const options of [undefined, { maxWait: '0s' }] as const) {
      expect(await limiter.reserve(rule, 'ann', options)).toMatchObject({ allowed: false, delayMs: 0 });
    }
    const fourth = await limiter.reserve(rule, 'ann', { maxWait: '3s' });
    expect(await fourth.cancel()).toBe(true);
    const again = await later();
    const behind = await later();
    expect([again.delayMs, behind.delayMs]).toEqual([3000, 4000]);
    expect([await again.cancel(), await again.cancel()]).toEqual([false, false]); // one waits behind it
  });

  it('a smaller settlement of permits that come later refunds the rest unless others wait behind them', async () => {
    const lending = { ...rule, burst: 3 } as const;
    const reserve = () => limiter.reserve(lending, 'ann', { cost: 3, maxWait: '1h' });
    await reserve();
    const last = await reserve();
    expect([last.delayMs, await last.settle(1)]).toEqual([3000, true]);
    const first = await reserve();
    const behind = await reserve();
    expect([first.delayMs, behind.delayMs]).toEqual([4000, 7000]);
    expect([await first.settle(1), await behind.settle(5)]).toEqual([false, true]);
    expect((await reserve()).delayMs).toBe(12_000);
  });

  it('is an error with a rule whose permits do not come later, and names those that can', async () => {
    const window = { name: 'mail', algorithm: 'fixed-window', limit: 1, window: '1m' } as const;
    await expect(limiter.reserve(window, 'ann', { maxWait: '1m' })).rejects.toThrow(
      'reserve() with maxWait needs a rule whose algorithm can delay requests, but rule "mail" uses fixed-window; use gcra, token-bucket or leaky-bucket',
    );
    expect(await limiter.reserve(window, 'ann', { maxWait: '0s' })).toMatchObject({ allowed: true });
  });

  it('charges several rules together, with the longest delay', async () => {
    const slow = { ...rule, name: 'slow', window: '1m' } as const;
    const reserve = () => limiter.reserve([rule, slow], 'ann', { cost: { slow: 1 }, maxWait: '1h' });
    expect([(await reserve()).delayMs, (await reserve()).delayMs]).toEqual([0, 60_000]);
    expect(await limiter.peek(rule, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 2000 });
  });
});

describe('maxWait of a rule', () => {
  it.each([
    { algorithm: 'gcra', limit: 1, window: '1h', maxWait: '1m' },
    { algorithm: 'fixed-window', limit: 1, window: '1h', maxWait: '1m' },
  ] as const)('is the longest wait of acquire with $algorithm, unless the call has its own', async (rule) => {
    const store = new MemoryStore({ clock: () => 1_700_000_040_000 });
    const limiter = new RateLimiter({ store });
    await limiter.consume(rule, 'ann');
    expect(await limiter.acquire(rule, 'ann')).toMatchObject({ allowed: false });
    const longer = new AbortController();
    const waiting = limiter.acquire(rule, 'ann', { maxWait: '1d', signal: longer.signal });
    longer.abort(new Error('it waited'));
    await expect(waiting).rejects.toThrow('it waited');
    await limiter.close();
    await store.close();
  });
});
