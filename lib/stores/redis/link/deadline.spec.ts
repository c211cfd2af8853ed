import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadline, DeadlineError } from './deadline.js';

const never = new Promise<never>(() => undefined);

describe('a deadline of 50 ms', () => {
  let deadline: Deadline;
  let told: unknown[];

  /** Records the outcome of a promise under a name. */
  function wait(name: string, promise: Promise<unknown>): void {
    deadline.within(promise).then(
      (result) => told.push([name, result]),
      (error: unknown) => told.push([name, error]),
    );
  }
  const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);

  beforeEach(() => {
    jest.useFakeTimers();
    deadline = new Deadline(50);
    told = [];
  });

  afterEach(() => {
    deadline.close();
    jest.useRealTimers();
  });

  it('rejects a call without a reply in time', async () => {
    wait('slow', never);
    await pass(49);
    expect(told).toEqual([]);
    await pass(2);
    expect(told).toEqual([['slow', new DeadlineError(50)]]);
    expect(String((told as unknown[][])[0]![1])).toBe('DeadlineError: no reply within 50 ms');
  });

  it('returns results and errors that arrive in time', async () => {
    wait('answer', Promise.resolve('yes'));
    wait('failure', Promise.reject(new Error('no')));
    await pass(0);
    expect(told).toEqual([
      ['answer', 'yes'],
      ['failure', new Error('no')],
    ]);
    await pass(100);
    expect(told).toHaveLength(2);
  });

  it('gives each call its full time, with one timer for all', async () => {
    wait('first', never);
    await pass(30);
    wait('second', never);
    wait('answered', Promise.resolve('yes'));
    expect(jest.getTimerCount()).toBe(1);
    await pass(22);
    expect(told).toEqual([
      ['answered', 'yes'],
      ['first', new DeadlineError(50)],
    ]);
    await pass(26);
    expect(told).toHaveLength(2);
    await pass(4);
    expect(told).toHaveLength(3);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('still accepts a reply that arrived while the event loop was busy', async () => {
    let answer: (value: string) => void = () => undefined;
    wait('late', new Promise((resolve) => (answer = resolve)));
    jest.advanceTimersByTime(50); // The timer fires before the socket is read.
    answer('yes');
    await pass(10);
    expect(told).toEqual([['late', 'yes']]);
  });

  it('keeps none of the calls that have ended, though there is always a pending one', async () => {
    let answer = (): void => undefined;
    for (let call = 0; call < 2000; call += 1) {
      const previous = answer;
      wait('next', new Promise<void>((resolve) => (answer = resolve)));
      previous();
      await pass(0);
    }
    expect(told).toHaveLength(1999);
    const lists = Object.values(deadline).filter((value) => Array.isArray(value)) as unknown[][];
    expect(lists.flat().length).toBeLessThan(300);
  });

  it('waits for nothing after it is closed, and can be used again', async () => {
    wait('first', never);
    deadline.close();
    expect(jest.getTimerCount()).toBe(0);
    wait('second', never);
    expect(jest.getTimerCount()).toBe(1);
    await pass(60);
    expect(told).toHaveLength(2);
  });
});
