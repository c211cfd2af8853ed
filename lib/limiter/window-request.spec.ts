import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SharedStore } from '../../test/fallback/shared-store.js';
import { VirtualTime } from '../../test/support/virtual-store.js';
import type { Rule } from '../index.js';
import { RateLimiter } from '../limiter.js';

const slow: Rule = { algorithm: 'sliding-window-log', limit: 1, window: '1h' };
const GONE = new Error('the store is gone');

/** A limiter with its store, whose servers report their state by `report`. No timer fires by itself. */
function openLimiter() {
  const store = new SharedStore(new VirtualTime());
  const listeners: ((change: { server: string; error: unknown }) => void)[] = [];
  const watch = (listener: never): (() => void) => {
    listeners.push(listener);
    return () => undefined;
  };
  Object.assign(store.shared, { watch });
  const report = (error: unknown): void => listeners.forEach((listener) => listener({ server: '', error }));
  return { limiter: new RateLimiter({ store, denyCache: false }), store, report };
}

/** Lets all promises settle that need no timer. */
async function settle(): Promise<void> {
  await jest.advanceTimersByTimeAsync(0);
}

describe('requests that wait in acquire', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('get the permits of the fallback at once when the shared store becomes unavailable', async () => {
    const { limiter, store, report } = openLimiter();
    await limiter.consume(slow, 'ann');
    const first = limiter.acquire(slow, 'ann');
    await settle();
    store.isGone = true;
    report(GONE);
    expect(await first).toMatchObject({ allowed: true, source: 'fallback' });
    await limiter.close();
  });

  it('get the permits of the shared store at once when it is available again', async () => {
    const { limiter, store, report } = openLimiter();
    store.isGone = true;
    await limiter.consume(slow, 'ann');
    const first = limiter.acquire(slow, 'ann');
    await settle();
    store.isGone = false;
    report(undefined);
    expect(await first).toMatchObject({ allowed: true, source: 'memory' });
    await limiter.close();
  });

  it('are not denied for the wait that the previous store reported', async () => {
    const { limiter, store, report } = openLimiter();
    const two: Rule = { ...slow, limit: 2 };
    await limiter.consume(two, 'ann', { cost: 2 });
    const first = limiter.acquire(two, 'ann');
    await settle();
    store.isGone = true;
    report(GONE);
    const next = limiter.acquire(two, 'ann', { maxWait: '1s' });
    expect([await first, await next]).toMatchObject([{ allowed: true }, { allowed: true }]);
    await limiter.close();
  });

  it('are reported to a listener that was added while they waited', async () => {
    const { limiter, store, report } = openLimiter();
    await limiter.consume(slow, 'ann');
    const first = limiter.acquire(slow, 'ann');
    await settle();
    const seen: unknown[] = [];
    limiter.events.on('decision', ({ decision }) => seen.push(decision));
    store.isGone = true;
    report(GONE);
    const decision = await first;
    expect(seen).toEqual([decision]);
    await limiter.close();
  });
});
