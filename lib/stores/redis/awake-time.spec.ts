import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { AwakeTime } from './breaker/deadline.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('counts a gap between two ticks, in which the event loop did not run, as one tick', () => {
  const time = new AwakeTime(5);
  const start = time.now;
  jest.advanceTimersByTime(5);
  time.tick();
  expect(time.now - start).toBe(5);
  jest.advanceTimersByTime(4000);
  time.tick();
  expect(time.now - start).toBe(11);
});
