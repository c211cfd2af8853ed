import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { after, every } from './timer.js';

const DAY_MS = 86_400_000;

describe('a timer of 75 days, longer than the longest timer of Node.js', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('calls back once, when it is due', () => {
    const times: string[] = [];
    after(75 * DAY_MS, () => times.push('due'));
    jest.advanceTimersByTime(75 * DAY_MS - 1);
    expect(times).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(times).toEqual(['due']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('calls back repeatedly until it is stopped', () => {
    let times = 0;
    const timer = every(75 * DAY_MS, () => (times += 1));
    jest.advanceTimersByTime(3 * 75 * DAY_MS);
    expect(times).toBe(3);
    timer.stop();
    jest.advanceTimersByTime(75 * DAY_MS);
    expect([times, jest.getTimerCount()]).toEqual([3, 0]);
  });
});
