import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { algorithms } from '../algorithms/registry.js';
import type { Adjustment } from '../contracts/store.js';
import { Leases } from './leases.js';

const SECOND_MS = 1000;
const DAY_MS = 86_400_000;

describe('the renewals of leases', () => {
  let calls: { at: number; renewals: readonly Adjustment[] }[];
  let leases: Leases;

  beforeEach(() => {
    jest.useFakeTimers();
    calls = [];
    leases = new Leases((renewals) => {
      calls.push({ at: performance.now(), renewals });
      return Promise.resolve(renewals.map(() => true));
    });
  });

  afterEach(() => {
    leases.close();
    jest.useRealTimers();
  });

  function hold(count: number, leaseMs: number): Adjustment[] {
    const held: Adjustment[] = [];
    for (let nth = 0; nth < count; nth += 1) {
      const key = `key-${nth}`;
      const parameters = { limit: 1, lease: leaseMs * 1000 };
      const renewal: Adjustment = {
        ...{ key, parameters, algorithm: algorithms.concurrency },
        ...{ source: 'redis' as const, kind: 'renew', cost: 1, receipt: 'name', chargedAt: 0 },
      };
      leases.hold([renewal], new AbortController());
      held.push(renewal);
    }
    return held;
  }

  it('are spread over a third of the lease, in calls of at most 100, for 10,000 permits', async () => {
    const start = performance.now();
    hold(10_000, 30 * SECOND_MS);
    await jest.advanceTimersByTimeAsync(10_600);
    const renewed = new Set(calls.flatMap(({ renewals }) => renewals.map(({ key }) => key)));
    expect(renewed.size).toBe(10_000);
    expect(Math.max(...calls.map(({ renewals }) => renewals.length))).toBe(100);
    const perSecond = new Map<number, number>();
    for (const { at, renewals } of calls) {
      const second = Math.floor((at - start) / SECOND_MS);
      perSecond.set(second, (perSecond.get(second) ?? 0) + renewals.length);
    }
    expect(Math.max(...perSecond.values())).toBeLessThan(3000);
  });

  it('end before the lease does if the store cannot be reached, also while it is waited for', async () => {
    const renewals = [() => Promise.resolve([undefined]), () => new Promise<[]>(() => undefined)];
    for (const renew of renewals) {
      const unreachable = new Leases(renew);
      const lost = new AbortController();
      const [lease] = hold(1, 30 * SECOND_MS);
      unreachable.hold([lease!], lost);
      await jest.advanceTimersByTimeAsync(29 * SECOND_MS);
      expect(lost.signal.aborted).toBe(false);
      await jest.advanceTimersByTimeAsync(SECOND_MS);
      expect(lost.signal.aborted).toBe(true);
    }
  });

  it('end when it is closed, and each lease is lost before it ends', async () => {
    const [early, late] = [new AbortController(), new AbortController()];
    const [lease] = hold(1, 30 * SECOND_MS) as [Adjustment];
    leases.hold([{ ...lease }], early);
    leases.close();
    leases.hold([{ ...lease }], late);
    await jest.advanceTimersByTimeAsync(28 * SECOND_MS);
    expect([early.signal.aborted, late.signal.aborted]).toEqual([false, false]);
    await jest.advanceTimersByTimeAsync(2 * SECOND_MS);
    expect([early.signal.aborted, late.signal.aborted]).toEqual([true, true]);
    expect(calls).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('are repeated before each lease ends, as long as the permit is held', async () => {
    hold(1, 30 * SECOND_MS);
    await jest.advanceTimersByTimeAsync(300 * SECOND_MS);
    const instants = calls.map(({ at }) => at);
    const gaps = instants.slice(1).map((at, index) => at - instants[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5 * SECOND_MS);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10 * SECOND_MS + 500);
    expect(calls.length).toBeGreaterThanOrEqual(28);
  });

  it('stop their timer when the last permit is released', async () => {
    const held = hold(2, 30 * SECOND_MS);
    leases.drop(held.slice(1));
    expect(jest.getTimerCount()).toBe(1);
    leases.drop(held);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('end when a permit of a reservation is held for a day, and its signal aborts', async () => {
    const lost = new AbortController();
    leases.hold([{ ...hold(1, 3600 * SECOND_MS)[0]! }], lost, true);
    await jest.advanceTimersByTimeAsync(DAY_MS - SECOND_MS);
    expect(lost.signal.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(20 * 60 * SECOND_MS);
    expect(lost.signal.aborted).toBe(true);
    const { length } = calls;
    await jest.advanceTimersByTimeAsync(3600 * SECOND_MS);
    expect(calls.slice(length).every(({ renewals }) => renewals.length === 1)).toBe(true); // that of hold()
  });

  it('end for the oldest of more than 10,000 permits of reservations, and not for those of hold()', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const [held] = hold(1, SECOND_MS) as [Adjustment];
    leases.hold([{ ...held }], first, true);
    leases.hold([{ ...held }], second, true);
    for (let nth = 0; nth < 9_999; nth += 1) leases.hold([{ ...held }], new AbortController(), true);
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
  });

  it('are sent only every few weeks for a lease of 75 days', async () => {
    hold(3, 75 * DAY_MS);
    await jest.advanceTimersByTimeAsync(10 * 60 * SECOND_MS);
    expect(calls).toEqual([]);
  });
});
