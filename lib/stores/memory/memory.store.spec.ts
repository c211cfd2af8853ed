import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { shown } from '../../contracts/shown.js';
import { MemoryStore, RateLimitConfigError, type ConcurrencyRule, type Rule } from '../../index.js';
import { RateLimiter } from '../../limiter.js';

const rule: Rule = { name: 'visits', algorithm: 'fixed-window', limit: 2, window: '10s' };

describe('the memory of a memory store', () => {
  const subjects = (count: number, kind = 'subject') =>
    Array.from({ length: count }, (_, n) => `${kind} ${n}`);
  let store: MemoryStore;
  let limiter: RateLimiter;

  function open(options: { maxKeys?: number } = {}): void {
    store = new MemoryStore(options);
    limiter = new RateLimiter({ store });
  }

  /** Advances the clock and runs the timers that are due. */
  async function pass(milliseconds: number): Promise<void> {
    await jest.advanceTimersByTimeAsync(milliseconds);
  }

  beforeEach(() => {
    jest.useFakeTimers();
    open();
  });

  afterEach(async () => {
    await store.close();
    jest.useRealTimers();
  });

  it('never exceeds maxKeys', async () => {
    open({ maxKeys: 50 });
    for (const subject of subjects(500)) {
      await limiter.consume(rule, subject);
      expect(store.size).toBeLessThanOrEqual(50);
    }
    expect(store.size).toBe(50);
  });

  it('keeps the counters of active subjects and deletes the least recently used', async () => {
    open({ maxKeys: 3 });
    for (const subject of ['ann', 'bob', 'cid']) await limiter.consume(rule, subject, { cost: 2 });
    expect((await limiter.consume(rule, 'ann')).allowed).toBe(false); // Denied, but active.
    await limiter.consume(rule, 'dan');
    const remaining = async (subject: string) => (await limiter.peek(rule, subject, { cost: 0 })).remaining;
    expect(await remaining('bob')).toBe(2);
    expect([await remaining('ann'), await remaining('cid'), await remaining('dan')]).toEqual([0, 0, 1]);
  });

  it('has room for fewer subjects if their logs are full', async () => {
    open({ maxKeys: 1000 });
    const log: Rule = { limit: 100, window: '1h' }; // Each counts as 7 when it is full.
    for (const subject of subjects(300)) {
      for (let times = 0; times < 100; times++) await limiter.consume(log, subject);
    }
    expect(store.size).toBe(142);
    for (const subject of subjects(7, 'small')) await limiter.consume(log, subject, { cost: 50 }); // The log has one entry.
    expect(store.size).toBe(148);
  });

  it('keeps the full log of an active subject while other subjects are added and evicted', async () => {
    open({ maxKeys: 200 });
    const log: Rule = { limit: 1000, window: '1h' }; // The log counts as 63 when it is full.
    for (let times = 0; times < 1000; times++) {
      expect((await limiter.consume(log, 'full')).allowed).toBe(true);
      await limiter.consume(rule, `passing ${times}`);
    }
    for (const subject of subjects(1000)) {
      await limiter.consume(rule, subject);
      expect((await limiter.consume(log, 'full')).allowed).toBe(false);
      expect(store.size).toBeLessThanOrEqual(138);
    }
  });

  it('keeps existing counters when new subjects are denied', async () => {
    open({ maxKeys: 20 });
    const log: Rule = { limit: 10, window: '1h' };
    for (const subject of subjects(20)) await limiter.consume(rule, subject, { cost: 2 });
    for (const subject of subjects(1000, 'flood')) {
      expect((await limiter.consume(log, subject, { cost: 11 })).allowed).toBe(false);
    }
    for (const subject of subjects(20)) {
      expect((await limiter.consume(rule, subject)).allowed).toBe(false);
    }
  });

  it.each<[string, Rule | ConcurrencyRule, number]>([
    ['a log, one for 16 entries', { limit: 1000, window: '1h' }, 63],
    ['cells, one for 32', { algorithm: 'sliding-window-cells', limit: 1000, cells: 1000, window: '1h' }, 32],
    ['permits held, one for 2 holders', { algorithm: 'concurrency', limit: 1000 }, 502],
  ])('is counted by the size of a state: %s', async (_title, large, size) => {
    open({ maxKeys: 1000 });
    for (const subject of subjects(999)) await limiter.consume(rule, subject);
    for (let times = 0; times < 1000; times++) {
      if (large.algorithm === 'concurrency') await limiter.hold(large, 'large');
      else await limiter.consume(large, 'large');
    }
    expect(store.size).toBe(1001 - size);
    await limiter.close();
  });

  it('contains nothing after peeks, costs of 0 and denials', async () => {
    for (const subject of subjects(100)) {
      await limiter.peek(rule, subject);
      await limiter.consume(rule, subject, { cost: 0 });
      await limiter.consume(rule, subject, { cost: 3 });
    }
    expect(store.size).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is freed soon after the window by one timer for all keys, which then stops', async () => {
    for (const subject of subjects(100)) await limiter.consume(rule, subject);
    expect(jest.getTimerCount()).toBe(1);
    await pass(9000);
    expect(store.size).toBe(100);
    await pass(1000);
    expect(store.size).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
    await limiter.consume(rule, 'ann');
    expect(jest.getTimerCount()).toBe(1);
  });

  it('is freed for expired keys while the keys of active subjects are kept', async () => {
    const regulars = subjects(1500, 'regular');
    for (const [index, subject] of subjects(1500, 'passing').entries()) {
      await limiter.consume(rule, subject);
      await limiter.consume({ ...rule, window: '1d' }, regulars[index]!);
    }
    for (let second = 0; second < 20; second++) {
      for (let visit = 0; visit < 100; visit++)
        await limiter.peek(rule, regulars[(second * 100 + visit) % 1500]!);
      await pass(1000);
    }
    expect(store.size).toBe(1500);
    expect((await limiter.peek({ ...rule, window: '1d' }, regulars[0]!, { cost: 0 })).remaining).toBe(1);
  });

  it('contains the instant of a reset until the counter would have expired', async () => {
    const log: Rule = { limit: 1000, window: '10s' }; // The log counts as 63 when it is full, and as 1 after its reset.
    open({ maxKeys: 64 });
    for (let times = 0; times < 1000; times++) await limiter.consume(log, 'full');
    await limiter.reset(log, 'full');
    for (const subject of subjects(63)) await limiter.consume(rule, subject);
    expect(store.size).toBe(64);
    await pass(11_000);
    expect(store.size).toBe(0);
  });

  it('is freed by close, which also stops the timer', async () => {
    for (const subject of subjects(10)) await limiter.consume(rule, subject);
    await store.close();
    expect(store.size).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a memory store', () => {
  it('does not keep an idle process alive', async () => {
    const setInterval = jest.spyOn(globalThis, 'setInterval');
    const store = new MemoryStore();
    await new RateLimiter({ store }).consume(rule, 'ann');
    const timers = setInterval.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef());
    expect(timers).toEqual([false]);
    await store.close();
    setInterval.mockRestore();
  });

  it('distinguishes charges before and after a reset that are made at the same instant', async () => {
    const store = new MemoryStore({ clock: () => 1_700_000_000_000 });
    const limiter = new RateLimiter({ store });
    const before = await limiter.consume(rule, 'ann');
    await limiter.reset(rule, 'ann');
    const behind = await limiter.consume(rule, 'ann');
    expect(await limiter.refund(before)).toBe(false);
    expect(await limiter.refund(behind)).toBe(true);
    expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 2 });
  });

  it('refunds a charge that follows a reset by a microsecond, however many other counters were reset', async () => {
    let now = 1_700_000_000_000;
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
    for (let other = 0; other < 2000; other++) {
      await limiter.consume(rule, other);
      await limiter.reset(rule, other);
    }
    now += 0.002;
    expect(await limiter.refund(await limiter.consume(rule, 1999))).toBe(true);
  });

  it.each([0, -1, 1.5, NaN, Infinity, '1e3', null])('rejects maxKeys: %p', (maxKeys) => {
    expect(() => new MemoryStore({ maxKeys: maxKeys as number })).toThrow(
      new RateLimitConfigError([`maxKeys: got ${shown(maxKeys)}; allowed: an integer from 1`]),
    );
  });
});
