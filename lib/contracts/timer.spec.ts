import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { after, sleep } from './timer.js';

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
});

describe('a pause of 75 days', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('a pause ends early only with the reason of its signal', async () => {
    const leaving = new AbortController();
    const paused = sleep(75 * DAY_MS, leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(paused).rejects.toThrow('gone');
  });
});
