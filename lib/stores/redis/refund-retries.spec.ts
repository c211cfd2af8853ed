import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concurrency } from '../../algorithms/concurrency/concurrency.js';
import { gcra } from '../../algorithms/gcra/gcra.js';
import type { Amendment } from '../../contracts/store.js';
import { hasDoneNothing, RefundRetries } from './refund-retries.js';

describe('a refund that a server could not make', () => {
  let now = 1e12;
  let isAvailable = false;
  let found = true;
  let made: Amendment[][] = [];
  let retries: RefundRetries;

  beforeEach(() => {
    jest.useFakeTimers();
    [now, isAvailable, found, made] = [1e12, false, true, []];
    const amend = (amendments: readonly Amendment[]): Promise<readonly boolean[]> => {
      if (isAvailable) {
        made.push([...amendments]);
        return Promise.resolve(amendments.map(() => found));
      }
      retries.add(amendments);
      return Promise.reject(new Error('not now'));
    };
    retries = new RefundRetries(
      amend,
      () => undefined,
      () => now,
    );
  });

  afterEach(() => void jest.useRealTimers());

  const refund = (expiresInMs: number, kind: Amendment['kind'] = 'refund'): Amendment => ({
    key: 'k',
    algorithm: gcra,
    parameters: {},
    kind,
    cost: 1,
    receipt: (now + expiresInMs) * 1000,
  });

  async function goBy(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 10) {
      now += 10;
      await jest.advanceTimersByTimeAsync(10);
    }
  }

  it('is repeated where the charge may still come, until it is found', async () => {
    const lease: Amendment = {
      ...refund(0),
      algorithm: concurrency,
      parameters: { lease: 30e6 },
      receipt: 'a',
    };
    retries.add([lease], false);
    [isAvailable, found] = [true, false];
    await goBy(10_000);
    expect(made.length).toBeGreaterThan(5);
    found = true;
    await goBy(2000);
    const times = made.length;
    await goBy(10_000);
    expect(made).toHaveLength(times);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is repeated no longer than the lease lasts from when the server has answered', async () => {
    const lease: Amendment = {
      ...refund(0),
      algorithm: concurrency,
      parameters: { lease: 30e6 },
      receipt: 'a',
    };
    retries.add([lease], false);
    await goBy(40_000);
    [isAvailable, found] = [true, false];
    await goBy(35_000);
    expect(made.length).toBeGreaterThan(5);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is made once, within a second of when the server can make it', async () => {
    const mine = refund(60_000);
    retries.add([mine]);
    await goBy(20_000);
    expect(made).toEqual([]);
    isAvailable = true;
    await goBy(1000);
    expect(made).toEqual([[mine]]);
    await goBy(60_000);
    expect(made).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is given up when the charge is gone by itself', async () => {
    retries.add([refund(5000)]);
    await goBy(7000);
    expect(jest.getTimerCount()).toBe(0);
    isAvailable = true;
    await goBy(10_000);
    expect(made).toEqual([]);
  });

  it('of a lease is given up when the lease has ended, however often it failed', async () => {
    const lease = { ...refund(0), algorithm: concurrency, parameters: { lease: 5e6 }, receipt: 'name' };
    retries.add([lease]);
    await goBy(7000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is never a renewal, which comes again by itself', () => {
    retries.add([refund(60_000, 'renew')]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits with 10,000 at the most, the latest of all, and 100 are made at once', async () => {
    const all = Array.from({ length: 12_000 }, () => refund(60_000));
    retries.add(all);
    isAvailable = true;
    await goBy(1000);
    expect(made.map(({ length }) => length)).toEqual(Array.from({ length: 100 }, () => 100));
    expect(made.flat()).toEqual(all.slice(2000));
  });

  it('is tried a last time when the store closes', async () => {
    const mine = refund(60_000);
    retries.add([mine]);
    isAvailable = true;
    await retries.close();
    expect(made).toEqual([[mine]]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('an error', () => {
  it.each([
    'Too many Cluster redirections. Last error: ReplyError: MOVED 1 127.0.0.1:1',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'LOADING Redis is loading the dataset in memory',
    "OOM command not allowed when used memory > 'maxmemory'.",
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
  ])('says that nothing was executed: %s', (message) => {
    expect(hasDoneNothing(new Error(message))).toBe(true);
  });

  it.each([
    'Connection is closed.',
    'no answer within 50 ms',
    'ERR user_script:1: attempt to index a nil value',
    'read ECONNRESET',
  ])('leaves open whether something was executed: %s', (message) => {
    expect(hasDoneNothing(new Error(message))).toBe(false);
  });
});
