import { expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { everySlidingRule } from './every-algorithm.js';
import { scenario } from './scenario.js';

const MINUTE = 60_000;
const quota = { limit: 1000, window: '1m' } as const;

scenario('1,000 a minute, asked 1,000 times on each side of the edge of a minute', (fresh) => {
  /** 1,000 in the last 10 ms of one minute, and 1,000 in the first 10 ms of the next. */
  async function acrossTheEdge(rule: Rule): Promise<number> {
    const { admittedOf, goTo } = fresh();
    let admitted = 0;
    for (let at = MINUTE - 10; at < MINUTE + 10; at++) {
      goTo(at);
      admitted += await admittedOf(100, rule);
    }
    return admitted;
  }

  it('a fixed window on the clock allows 2,000 requests in 20 ms', async () => {
    expect(await acrossTheEdge({ ...quota, algorithm: 'fixed-window', align: 'clock' })).toBe(2000);
  });

  // The counter is an estimate and rounds down, so it allows one more.
  it.each(everySlidingRule(quota))(
    '$algorithm allows 1,000 requests at the edge of a window, or one more if it is an estimate',
    async (rule) => {
      expect(await acrossTheEdge(rule)).toBe(rule.algorithm === 'sliding-window-counter' ? 1001 : 1000);
    },
  );
});

scenario('a client that keeps asking while it is refused', (fresh) => {
  it.each<[Rule, number]>([
    [{ ...quota, limit: 5, algorithm: 'fixed-window' }, MINUTE],
    [{ ...quota, limit: 5, algorithm: 'sliding-window-log' }, MINUTE],
    [{ ...quota, limit: 5, algorithm: 'sliding-window-counter' }, MINUTE + 1],
    [{ ...quota, limit: 5, algorithm: 'token-bucket' }, MINUTE / 5],
    [{ ...quota, limit: 5, algorithm: 'gcra' }, MINUTE / 5],
  ])('%j allows a client as soon as its window slides, since denials do not count', async (rule, opensAt) => {
    const { admittedOf, goTo } = fresh();
    expect(await admittedOf(5, rule)).toBe(5);
    for (let at = 1000; at < opensAt; at += 1000) {
      goTo(at);
      expect([at, await admittedOf(10, rule)]).toEqual([at, 0]);
    }
    goTo(opensAt);
    expect(await admittedOf(1, rule)).toBe(1);
  });
});

scenario('a bucket of 10 per second and a burst of 20', (fresh) => {
  it.each(['token-bucket', 'gcra'] as const)('%s empties, denies and refills a bucket', async (algorithm) => {
    const { admittedOf, goTo, limiter } = fresh();
    const rule: Rule = { algorithm, limit: 10, window: '1s', burst: 20 };
    expect(await admittedOf(25, rule)).toBe(20);
    expect(await limiter.peek(rule, '203.0.113.7')).toMatchObject({
      allowed: false,
      limit: 20,
      remaining: 0,
      retryAfterMs: 100,
      resetAfterMs: 2000,
    });
    goTo(99);
    expect(await admittedOf(5, rule)).toBe(0);
    goTo(100);
    expect(await admittedOf(5, rule)).toBe(1);
    goTo(600);
    expect(await admittedOf(10, rule)).toBe(5);
    goTo(10_000);
    expect(await admittedOf(25, rule)).toBe(20);
  });
});
