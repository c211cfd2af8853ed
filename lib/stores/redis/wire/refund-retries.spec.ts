import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { concurrency } from '../../../algorithms/concurrency/concurrency.js';
import { gcra } from '../../../algorithms/gcra/gcra.js';
import type { Adjustment } from '../../../contracts/store.js';
import { boundedParts } from './bounded-calls.js';
import { RefundRetries } from './adjuster.js';

describe('a refund that a server could not execute', () => {
  let now = 1e12;
  let isAvailable = false;
  let found = true;
  let made: Adjustment[][] = [];
  let retries: RefundRetries;

  beforeEach(() => {
    jest.useFakeTimers();
    [now, isAvailable, found, made] = [1e12, false, true, []];
    const adjust = (adjustments: readonly Adjustment[]): Promise<readonly boolean[]> => {
      if (isAvailable) {
        made.push([...adjustments]);
        return Promise.resolve(adjustments.map(() => found));
      }
      retries.add(adjustments);
      return Promise.reject(new Error('not now'));
    };
    const adjuster = { adjustPart: adjust, partsOf: boundedParts };
    retries = new RefundRetries(adjuster, () => now);
  });

  afterEach(() => void jest.useRealTimers());

  const refund = (expiresInMs: number, kind: Adjustment['kind'] = 'refund'): Adjustment => ({
    key: 'k',
    algorithm: gcra,
    parameters: {},
    kind,
    cost: 1,
    receipt: (now + expiresInMs) * 1000,
    chargedAt: now * 1000,
    source: 'redis',
  });

  async function goBy(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 10) {
      now += 10;
      await jest.advanceTimersByTimeAsync(10);
    }
  }

  it('is repeated until it finds the charge, if that may not be executed yet', async () => {
    const lease: Adjustment = {
      ...refund(0),
      algorithm: concurrency,
      parameters: { lease: 30e6 },
      receipt: 'a',
    };
    retries.add([lease], { isUncertain: true });
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

  it('is repeated at most for the time of the lease after the server has replied', async () => {
    const lease: Adjustment = {
      ...refund(0),
      algorithm: concurrency,
      parameters: { lease: 30e6 },
      receipt: 'a',
    };
    retries.add([lease], { isUncertain: true });
    await goBy(40_000);
    [isAvailable, found] = [true, false];
    await goBy(35_000);
    expect(made.length).toBeGreaterThan(5);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is executed once, within a second after the server can execute it', async () => {
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

  it('is executed at once when a server has recovered, however often it failed before', async () => {
    const mine = refund(60_000);
    retries.add([mine]);
    await goBy(20_000);
    isAvailable = true;
    retries.retryNow();
    expect(made).toEqual([[mine]]);
    await goBy(60_000);
    expect(made).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is executed at once when a server recovers while the previous attempt fails', async () => {
    const mine = refund(60_000);
    retries.add([mine]);
    retries.retryNow();
    isAvailable = true;
    retries.retryNow();
    await jest.advanceTimersByTimeAsync(0);
    expect(made).toEqual([[mine]]);
    expect(jest.getTimerCount()).toBe(0);
  });

  describe('of prefetched permits', () => {
    const rest = (): Adjustment => ({ ...refund(60_000), once: { name: 'a', until: (now + 30_000) * 1000 } });

    it('is sent with their name as long as the server stores it', async () => {
      const mine = rest();
      retries.add([mine], { isSent: true });
      await goBy(20_000);
      isAvailable = true;
      retries.retryNow();
      expect(made).toEqual([[mine]]);
    });

    it('is sent without their name when the server no longer stores it, if it was never sent', async () => {
      const mine = rest();
      retries.add([mine]);
      await goBy(31_000);
      isAvailable = true;
      retries.retryNow();
      const { once: _once, ...unnamed } = mine;
      expect(made).toEqual([[unnamed]]);
    });

    it('is given up when the server no longer stores their name, if it may have been executed', async () => {
      retries.add([rest()], { isSent: true });
      await goBy(31_000);
      isAvailable = true;
      await goBy(60_000);
      expect(made).toEqual([]);
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  describe('of a cost above the reservation, which is a charge with a name', () => {
    const charge = (expiresInMs: number): Adjustment => ({
      ...refund(expiresInMs, 'charge'),
      once: { name: 'a', until: Infinity },
    });

    it('is repeated until the reservation would have expired, if it was never sent', async () => {
      const mine = charge(600_000);
      retries.add([mine, charge(300_000)]);
      await goBy(400_000);
      isAvailable = true;
      retries.retryNow();
      expect(made).toEqual([[mine]]);
    });

    it('is repeated for a minute if the reservation has expired before the settlement', async () => {
      const mine = charge(-5000);
      retries.add([mine]);
      await goBy(50_000);
      isAvailable = true;
      retries.retryNow();
      expect(made).toEqual([[mine]]);
    });

    it('is repeated for a minute if it may have been executed, since the server stores its name for two', async () => {
      const mine = charge(600_000);
      retries.add([mine]);
      await goBy(100_000);
      retries.add([mine], { isSent: true });
      await goBy(50_000);
      retries.add([mine], { isSent: true });
      await goBy(20_000);
      isAvailable = true;
      await goBy(10_000);
      expect(made).toEqual([]);
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  it('is given up when the charge has expired', async () => {
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

  it('is never a renewal, which is repeated anyway', () => {
    retries.add([refund(60_000, 'renew')]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is one of at most 10,000, the latest of all, and is sent with 100 keys per call', async () => {
    const all = Array.from({ length: 12_000 }, () => refund(60_000));
    retries.add(all);
    isAvailable = true;
    await goBy(1000);
    expect(made.map(({ length }) => length)).toEqual(Array.from({ length: 200 }, () => 50));
    expect(made.flat()).toEqual(all.slice(2000));
  });

  it('is tried once more when the store closes', async () => {
    const mine = refund(60_000);
    retries.add([mine]);
    isAvailable = true;
    await retries.close();
    expect(made).toEqual([[mine]]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is sent when the store closes while a round of many calls is under way', async () => {
    const sent: (readonly Adjustment[])[] = [];
    let reply = (): void => undefined;
    const adjustPart = (part: readonly Adjustment[]): Promise<readonly boolean[]> => {
      sent.push(part);
      return new Promise((resolve) => (reply = () => resolve(part.map(() => true))));
    };
    retries = new RefundRetries({ adjustPart, partsOf: (all) => all.map((each) => [each]) }, () => now);
    const refunds = [1, 2, 3].map((nth) => refund(60_000 - nth));
    retries.add(refunds);
    retries.retryNow();
    expect(sent).toHaveLength(1);
    const closed = retries.close();
    expect(sent.flat()).toEqual(refunds);
    reply();
    jest.useRealTimers();
    void closed;
  });
});
