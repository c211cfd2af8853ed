import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import type { Counter, Store, Result } from '../../lib/store.js';
import { RedisKeys } from '../support/redis-keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, VirtualTime, virtualStore } from '../support/virtual-store.js';
import '../../lib/algorithms/registry.js';

const IN_FLIGHT = 500;

describe.each(STORES)('the bounded size of a call on the %s store', (kind) => {
  const time = new VirtualTime();
  const prefix = uniquePrefix();
  let store: Store;
  let keys: RedisKeys;

  beforeAll(async () => {
    keys = new RedisKeys(redisUrl(), prefix);
    store = kind === 'redis' ? await openRedisStore({ clock: time.clock }) : virtualStore(kind, time);
  });

  afterAll(async () => {
    keys.close();
    await store.close();
  });

  const counterOf = (rule: AnyRule): Counter => {
    const { algorithm, parameters } = compileRule(rule);
    return { key: `${prefix}{ann}:${rule.name!}`, algorithm, parameters };
  };

  async function hit(counter: Counter, cost: number, lease?: string, maxWait = 0): Promise<Result> {
    return (await store.decide([{ ...counter, cost, lease }], { maxWait }))[0]!;
  }

  async function fill(hits: number, each: (nth: number) => Promise<unknown>): Promise<void> {
    for (let nth = 0; nth < hits; nth += IN_FLIGHT) {
      await Promise.all(Array.from({ length: IN_FLIGHT }, (_, index) => each(nth + index)));
      time.advance(1);
    }
  }

  it('a refund with 1,500 later requests leaves the request charged until it expires', async () => {
    const log = counterOf({ name: 'log', algorithm: 'sliding-window-log', limit: 10_000, window: '1h' });
    const old = await hit(log, 1);
    const receipt = time.now * 1000 + old.resetAfter;
    time.advance(1);
    await fill(1500, () => hit(log, 1));
    const recent = await hit(log, 1);
    const recentReceipt = time.now * 1000 + recent.resetAfter;
    time.advance(1);
    await fill(500, () => hit(log, 1));

    const remaining = (await hit(log, 0)).remaining;
    const refund = { ...log, kind: 'refund', cost: 1, chargedAt: 0, source: 'redis' } as const;
    expect(await store.adjust([{ ...refund, receipt }])).toEqual([false]);
    expect((await hit(log, 0)).remaining).toBe(remaining);
    expect(await store.adjust([{ ...refund, receipt: recentReceipt }])).toEqual([true]);
    expect((await hit(log, 0)).remaining).toBe(remaining + 1);

    time.now = receipt / 1000;
    expect((await hit(log, 0)).remaining).toBe(remaining + 2);
    await store.reset([log]);
  });

  it('3,000 permits of dead processes are not counted, and a call removes at most 1,000 of them', async () => {
    const slots = counterOf({ name: 'slots', algorithm: 'concurrency', limit: 3000, lease: '1m' });
    await fill(3000, (nth) => hit(slots, 1, `dead-${nth}`));
    expect((await hit(slots, 1, 'late')).allowed).toBe(false);
    time.advance(30_000);
    const renewal = { ...slots, kind: 'renew', source: 'redis', cost: 1, receipt: 'dead-0' } as const;
    expect(await store.adjust([{ ...renewal, chargedAt: 0 }])).toEqual([true]);
    time.advance(30_000);
    // The clock of the key is a member as well.
    const held = async () => (kind === 'redis' ? (await keys.redis.zcard(slots.key)) - 1 : undefined);
    for (const [left, lease] of [
      [2001, 'a'],
      [1002, 'b'],
      [4, 'c'],
      [5, 'd'],
    ] as const) {
      expect(await hit(slots, 1, lease)).toMatchObject({ allowed: true });
      if (kind === 'redis') expect(await held()).toBe(left);
    }
    expect((await hit(slots, 0, '')).remaining).toBe(2995);
    expect(await store.adjust([{ ...renewal, receipt: 'dead-7', chargedAt: 0 }])).toEqual([false]);
    time.advance(60_000);
    expect(await hit(slots, 1, 'e')).toMatchObject({ allowed: true, remaining: 2999 });
    if (kind === 'redis') expect(await held()).toBe(1);
    await store.reset([slots]);
  });

  it('a single request holds up to 1,000 permits and releases all of them', async () => {
    const slots = counterOf({ name: 'many', algorithm: 'concurrency', limit: 10_000, lease: '1m' });
    for (const cost of [1000, 999, 513, 1]) {
      expect(await hit(slots, cost, `of-${cost}`)).toMatchObject({ allowed: true });
    }
    expect((await hit(slots, 0, '')).remaining).toBe(10_000 - 2513);
    for (const cost of [1000, 999, 513, 1]) {
      const held = { ...slots, cost, receipt: `of-${cost}`, chargedAt: 0, source: 'redis' } as const;
      expect(await store.adjust([{ ...held, kind: 'renew' }])).toEqual([true]);
      expect(await store.adjust([{ ...held, kind: 'refund' }])).toEqual([true]);
    }
    expect((await hit(slots, 0, '')).remaining).toBe(10_000);
  });

  it.each([1001, 10_001, 1e9])(
    'a single request never holds %d permits, however long it waits',
    async (cost) => {
      const slots = counterOf({ name: 'greedy', algorithm: 'concurrency', limit: 10_000, lease: '1m' });
      for (const maxWait of [0, Infinity]) {
        const verdict = await hit(slots, cost, 'greedy', maxWait);
        expect(verdict).toMatchObject({ allowed: false, retryAfter: null });
      }
      expect((await hit(slots, 0, '')).remaining).toBe(10_000);
    },
  );
});
