import { describe, expect, it } from '@jest/globals';
import { adjustmentOf, type Adjustment, type Hit } from '../contracts/store.js';
import { compileRule } from '../rules/compile-rule.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { AbandonedRequests } from './abandoned-requests.js';
import '../algorithms/registry.js';

const SECOND = 1000;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * A leaky bucket that one request leaves per second.
 *
 * @param reply what each refund waits for
 */
function queue(reply?: () => Promise<unknown>) {
  let now = 1_700_000_040_000;
  const clock = () => now;
  const store = new MemoryStore({ clock });
  const calls: number[] = [];
  const abandoned = new AbandonedRequests(async (adjustments) => {
    calls.push(adjustments.length);
    const adjusted = store.adjust(adjustments);
    await reply?.();
    return adjusted;
  }, clock);
  const { algorithm, parameters } = compileRule({ algorithm: 'leaky-bucket', limit: 1, window: '1s' });
  const hitOf = (key: string, cost = 1): Hit => ({ key, algorithm, parameters, cost });
  return {
    calls,
    abandoned,
    /** Adds requests. Returns their refunds. */
    join(requests: number, key = 'ann'): Adjustment[] {
      return Array.from({ length: requests }, () => {
        const hit = hitOf(key);
        return adjustmentOf(hit, store.decide([hit], { maxWait: Infinity })[0]!, 'refund-last');
      });
    },
    /** Returns the seconds until the queue is empty. */
    length: (key = 'ann') => store.decide([hitOf(key, 0)], { dryRun: true })[0]!.resetAfter / 1e6,
    pass: (milliseconds: number) => (now += milliseconds),
  };
}

describe('requests that are abandoned', () => {
  it.each([
    ['the oldest first', (all: readonly Adjustment[]) => all],
    ['the newest first', (all: readonly Adjustment[]) => all.toReversed()],
    ['in another order', (all: readonly Adjustment[]) => all.map((_each, at) => all[(at * 7) % all.length]!)],
  ])('leave no place behind: %s', async (_title, inOrder) => {
    const { abandoned, join, length } = queue();
    const [, ...refunds] = join(200);
    expect(length()).toBe(200);
    for (const refund of inOrder(refunds)) await abandoned.refund([refund]);
    expect([length(), abandoned.size]).toEqual([1, 0]);
  });

  it('leave no place behind if all are abandoned at once', async () => {
    const { abandoned, join, length, calls } = queue();
    const [, ...refunds] = join(60);
    await Promise.all(refunds.map((refund) => abandoned.refund([refund])));
    expect([length(), abandoned.size]).toEqual([1, 0]);
    expect(calls.slice(59)).toEqual([10, 48]);
  });

  it('keep their places while another request waits behind them, and leave them with it', async () => {
    const { abandoned, join, length } = queue();
    const [, ...refunds] = join(10);
    const [behind] = join(1);
    for (const refund of refunds) await abandoned.refund([refund]);
    expect([length(), abandoned.size]).toEqual([11, 9]);
    await abandoned.refund([behind!]);
    expect([length(), abandoned.size]).toEqual([1, 0]);
  });

  it('keep their places behind one that waits, and only those', async () => {
    const { abandoned, join, length } = queue();
    const refunds = join(8);
    const [, first, second, , fourth, fifth, sixth] = refunds;
    for (const refund of [first, second, fourth, fifth, sixth]) await abandoned.refund([refund!]);
    expect(length()).toBe(8);
    await abandoned.refund([refunds[7]!]);
    expect([length(), abandoned.size]).toEqual([4, 2]); // The third waits.
    await abandoned.refund([refunds[3]!]);
    expect([length(), abandoned.size]).toEqual([1, 0]);
  });

  it('are forgotten when their turn has passed', async () => {
    const { abandoned, join, length, pass } = queue();
    for (const refund of join(10).slice(0, 5)) await abandoned.refund([refund]);
    expect(abandoned.size).toBe(5);
    pass(6 * SECOND);
    const [own] = join(1);
    for (const refund of join(1)) await abandoned.refund([refund]);
    expect([length(), abandoned.size]).toEqual([5, 0]);
    await abandoned.refund([own!]);
    expect(length()).toBe(4);
  });

  it('are kept up to 1,000 of all counters together, of which the oldest are dropped', async () => {
    const { abandoned, join, length } = queue();
    const refunds = [...join(601, 'bob'), ...join(600, 'ann')];
    const [behind] = join(1, 'ann');
    for (const refund of refunds) await abandoned.refund([refund]);
    // Those of bob have left.
    expect([length('bob'), abandoned.size]).toEqual([0, 600]);
    const others = join(501, 'eve').slice(0, 500);
    for (const refund of others) await abandoned.refund([refund]);
    expect(abandoned.size).toBe(1000);
    await abandoned.refund([behind!]);
    expect([length('ann'), abandoned.size]).toEqual([101, 500]);
  });

  it('cost at most ten refunds in vain for each that leaves behind a request that waits, however many are kept', async () => {
    const { abandoned, join, length, calls } = queue();
    const refunds = join(200);
    join(1);
    for (const refund of refunds) await abandoned.refund([refund]);
    expect([length(), abandoned.size]).toEqual([201, 200]);
    calls.splice(0);
    for (let nth = 0; nth < 3; nth++) for (const refund of join(1)) await abandoned.refund([refund]);
    expect(calls).toEqual([1, 10, 1, 10, 1, 10]);
  });

  it('are not sent again and again if two leave at a time behind a request that waits', async () => {
    let replies = 0;
    const { abandoned, join, calls } = queue(async () => {
      if ((replies += 1) > 1000) throw new Error('endless');
      for (let nth = 0; nth < 4; nth++) await turn();
    });
    const refunds = join(40);
    join(1);
    await Promise.all(refunds.map((refund) => abandoned.refund([refund])));
    calls.splice(0);
    const [first, last] = join(2);
    const leaving = abandoned.refund([last!]);
    await turn();
    await Promise.all([leaving, abandoned.refund([first!])]);
    expect(calls.length).toBeLessThan(10);
  });
});
