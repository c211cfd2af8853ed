import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { MemoryStore, type ConcurrencyRule } from '../index.js';
import { RateLimiter } from '../limiter.js';

const HELD: ConcurrencyRule = { algorithm: 'concurrency', limit: 1, lease: '1h', queue: 10 };

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('a request that has waited in vain leaves nothing in the process', async () => {
  const limiter = new RateLimiter({ store: new MemoryStore() });
  await limiter.hold(HELD, 'ann');
  const timers = jest.getTimerCount();
  const waiting = limiter.hold(HELD, 'ann', { maxWait: '1s' });
  await jest.advanceTimersByTimeAsync(1000);
  expect((await waiting).allowed).toBe(false);
  expect(jest.getTimerCount()).toBe(timers);
});
