import { describe, expect, it } from '@jest/globals';
import { Reference } from '../../test/support/reference.js';
import type { Step } from '../contracts/algorithm.js';
import { gcra } from './gcra/gcra.js';
import { tokenBucket } from './token-bucket/token-bucket.js';

const NOON = Date.UTC(2024, 0, 1, 12) * 1000;
const SECOND = 1e6;
const RULE = { limit: 1, window: SECOND, burst: 4 };

/** Decides requests in turn. Returns for each its delay, or when to retry, in seconds. */
function player(counter: { hit(now: number, cost: number, maxWait: number): Step<unknown> }) {
  return (at: number, cost: number, maxWait: number): string => {
    const step = counter.hit(NOON + at * SECOND, cost, maxWait * SECOND);
    if (step.allowed) return `after ${step.delay / SECOND}`;
    return step.retryAfter === null ? 'never' : `retry ${step.retryAfter / SECOND}`;
  };
}

const ALGORITHMS = [
  { name: 'gcra', start: (overdraft = true) => player(new Reference(gcra, { ...RULE, overdraft })) },
  {
    name: 'token-bucket',
    start: (overdraft = true) => player(new Reference(tokenBucket, { ...RULE, overdraft })),
  },
];

describe.each(ALGORITHMS)('$name with an overdraft, 1 per second, burst 4', ({ start }) => {
  it('a waiting request above the burst proceeds when all earlier permits are available again', () => {
    const decide = start();
    expect(decide(0, 2, 0)).toBe('after 0');
    expect(decide(0, 10, 60)).toBe('after 2');
  });

  it('a full bucket lends at once, and later requests wait until the debt is repaid', () => {
    const decide = start();
    expect(decide(0, 10, 60)).toBe('after 0');
    expect(decide(0, 1, 60)).toBe('after 7');
    expect(decide(5, 1, 0)).toBe('retry 3');
    expect(decide(8, 1, 0)).toBe('after 0');
  });

  it('a request that does not wait is denied above the burst', () => {
    expect(start()(0, 5, 0)).toBe('never');
  });

  it('a wait longer than the time limit is denied with the time until it would fit', () => {
    const decide = start();
    decide(0, 10, 60);
    expect(decide(0, 10, 9)).toBe('retry 1');
    expect(decide(1, 10, 9)).toBe('after 9');
  });

  it('a debt that takes longer to repay than the limiter can store is never allowed', () => {
    expect(start()(0, 1e9, 60)).toBe('after 0');
    expect(start()(0, 2e9, 60)).toBe('never');
  });

  it('without the option, a request above the burst is denied', () => {
    expect(start(false)(0, 5, 60)).toBe('never');
  });
});
