import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { MemoryStore, type ConcurrencyRule } from '../index.js';
import { RateLimiter } from '../limiter.js';

const HELD: ConcurrencyRule = { algorithm: 'concurrency', limit: 1, lease: '1h', queue: 10 };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('a request that has waited in vain leaves nothing in the process', async () => {
  const limiter = new RateLimiter({ store: new MemoryStore() });
  await limiter.hold(HELD, 'ann');
  await jest.advanceTimersByTimeAsync(0);
  const timers = jest.getTimerCount();
  const waiting = limiter.hold(HELD, 'ann', { maxWait: '1s' });
  await jest.advanceTimersByTimeAsync(1000);
  expect((await waiting).allowed).toBe(false);
  expect(jest.getTimerCount()).toBe(timers);
});

it('a request that waits is served by a release before any timer fires', async () => {
  const limiter = new RateLimiter({ store: new MemoryStore() });
  const held = await limiter.hold(HELD, 'ann');
  const waiting = limiter.hold(HELD, 'ann', { maxWait: '1h' });
  let isServed = false;
  void waiting.then(() => (isServed = true));
  await jest.advanceTimersByTimeAsync(0);
  expect(isServed).toBe(false);
  await held.release();
  await jest.advanceTimersByTimeAsync(0);
  expect(isServed).toBe(true);
  expect((await waiting).allowed).toBe(true);
  await limiter.close();
});
