import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitStoreError, type ConcurrencyRule, type Rule } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import { until } from '../support/redis/until.mjs';
import { Fleet } from './fleet.js';

const rule: Rule = { limit: 8, window: '1m', algorithm: 'sliding-window-log' };
const blocking = { ...rule, name: 'login', block: 'manual' } as const;
const queue: Rule = { limit: 8, window: '8s', algorithm: 'gcra' };
const seats: ConcurrencyRule = { name: 'seats', algorithm: 'concurrency', limit: 8 };

let fleet: Fleet;
/** Four processes whose store is unavailable: each has two of eight permits. */
const lost = (): [RateLimiter, RateLimiter] => {
  fleet = new Fleet(4);
  fleet.loseStore();
  return fleet.limiters as unknown as [RateLimiter, RateLimiter];
};

afterEach(() => fleet.close());

// An operation of a program must not appear successful while Redis cannot confirm it.
describe('while the store cannot decide', () => {
  it('peek reports the share of the process without a charge while the store cannot decide', async () => {
    const [one] = lost();
    const untouched = { allowed: true, limit: 2, remaining: 1, source: 'fallback', fallback: 'local' };
    expect(await one.peek(rule, 'ann')).toMatchObject(untouched);
    expect(await one.peek(rule, 'ann')).toMatchObject(untouched);
  });

  it('reserve charges the share, and settle charges the difference as debt while the store cannot decide', async () => {
    const [one] = lost();
    const reservation = await one.reserve(queue, 'ann');
    expect(reservation.decision).toMatchObject({ allowed: true, source: 'fallback' });
    await reservation.settle(3);
    expect(await one.peek(queue, 'ann')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 8000 });
  });

  it('settle charges the rule that it names only, while the store cannot decide and after it has recovered', async () => {
    const [one] = lost();
    const rules: readonly Rule[] = [
      { ...queue, name: 'tokens', limit: 800 },
      { ...queue, name: 'requests' },
    ];
    const left = async () =>
      (await one.peek(rules, 'ann', { cost: 0 })).decisions.map(({ remaining }) => remaining);
    const reservation = await one.reserve(rules, 'ann', { cost: { tokens: 100 } });
    expect(reservation.decision).toMatchObject({ allowed: true, source: 'fallback' });
    const later = await one.reserve(rules, 'ann', { cost: { tokens: 100 } });
    expect(await reservation.settle({ tokens: 20 })).toBe(true);
    expect(await left()).toEqual([80, 0]);
    fleet.store.isGone = false;
    expect(await later.settle({ tokens: 50 })).toBe(true);
    fleet.loseStore();
    expect(await left()).toEqual([130, 0]);
  });

  it('a threshold of its share is reported once per process while the store cannot decide', async () => {
    const [one, two] = lost();
    const reports: string[] = [];
    for (const [nth, { events }] of [one, two].entries())
      events.on('threshold', ({ threshold, remaining }) =>
        reports.push(`${nth}: ${threshold}, ${remaining}`),
      );
    const alerted: Rule = { limit: 8, window: '8s', algorithm: 'gcra', alerts: [0.5] };
    for (const limiter of [one, one, two]) expect((await limiter.consume(alerted, 'ann')).allowed).toBe(true);
    expect(reports).toEqual(['0: 0.5, 1', '1: 0.5, 1']);
  });

  it('a reservation holds a permit of the share, and releases it after the store has recovered', async () => {
    const [one] = lost();
    const rules = [{ ...queue, name: 'tokens' }, seats] as const;
    const budget = await one.reserve(rules, 'ann', { cost: { tokens: 1 } });
    const held = async () => (await one.peek(seats, 'ann', { cost: 0 })).remaining;
    expect([budget.decision.source, await held()]).toEqual(['fallback', 1]);
    fleet.store.isGone = false;
    expect(await budget.settle({ tokens: 1 })).toBe(true);
    fleet.loseStore();
    expect(await held()).toBe(2);
  });

  it('refund returns permits of the fallback, even after the store has recovered', async () => {
    const [one] = lost();
    const decision = await one.consume(rule, 'ann');
    fleet.store.isGone = false;
    expect(await one.refund(decision)).toBe(true);
    fleet.loseStore();
    expect(await one.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 2 });
  });

  it('refund of a charge in the store returns false and emits storeError while the store cannot decide', async () => {
    fleet = new Fleet(4);
    const one = fleet.limiters[0]!;
    const decision = await one.consume(rule, 'ann');
    const errors: unknown[] = [];
    one.events.on('storeError', ({ error, call }) => errors.push([call, error]));
    fleet.loseStore();
    expect(await one.refund(decision)).toBe(false);
    expect(errors).toEqual([['refund', new Error('the store is gone')]]);
    expect(one.events.faults.size).toBe(0); // The fallback decided no request.
  });

  it('acquire waits for a permit of the share and denies a wait that is too long at once', async () => {
    const [one] = lost();
    const places = [];
    for (let nth = 1; nth <= 3; nth++) places.push(await one.acquire(queue, 'ann', { maxWait: '0s' }));
    expect(places.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'fallback'],
      [true, 'fallback'],
      [false, 'fallback'],
    ]);
  });

  it('hold takes at most the share in each process, and release returns it', async () => {
    const [one, other] = lost();
    const held = [];
    for (const limiter of [one, one, one, other, other, other]) held.push(await limiter.hold(seats, 'ann'));
    expect(held.map(({ allowed }) => allowed)).toEqual([true, true, false, true, true, false]);
    await held[0]!.release();
    expect(await one.hold(seats, 'ann')).toMatchObject({ allowed: true, decision: { fallback: 'local' } });
  });

  it('block rejects and blocks the subject in this process while the store cannot decide', async () => {
    const [one, other] = lost();
    const blocked = one.block(blocking, 'ann', '5m');
    await expect(blocked).rejects.toThrow(RateLimitStoreError);
    await expect(blocked).rejects.toThrow(
      'block: the store did not confirm it (the store is gone). It applies in this process, and may have been made in the store: repeat it when the store is available again.',
    );
    expect(await one.peek(blocking, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 300_000 });
    expect(await other.peek(blocking, 'ann')).toMatchObject({ allowed: true });
  });

  it('unblock rejects and ends the block in this process while the store cannot decide', async () => {
    fleet = new Fleet(4);
    const [one, other] = fleet.limiters as [RateLimiter, RateLimiter];
    for (const limiter of [one, other]) await limiter.block(blocking, 'ann', '5m');
    fleet.loseStore();
    await expect(one.unblock(blocking, 'ann')).rejects.toMatchObject({
      name: 'RateLimitStoreError',
      operation: 'unblock',
    });
    expect(await one.peek(blocking, 'ann')).toMatchObject({ allowed: true, source: 'fallback' });
    expect(await other.peek(blocking, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
  });

  it('a block that the store confirmed stays in force in the process that requested it', async () => {
    fleet = new Fleet(4);
    const one = fleet.limiters[0]!;
    await one.block(blocking, 'ann', '5m');
    fleet.loseStore();
    expect(await one.consume(blocking, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
  });

  it('reset rejects and deletes the counter of this process while the store cannot decide', async () => {
    const [one] = lost();
    await one.consume(rule, 'ann');
    await expect(one.reset(rule, 'ann')).rejects.toMatchObject({
      name: 'RateLimitStoreError',
      operation: 'reset',
    });
    expect(await one.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 2 });
  });

  it("'allow' and 'deny' decide without counting while the store cannot decide", async () => {
    const [one] = lost();
    const open = { ...rule, name: 'open', onStoreError: 'allow' } as const;
    const shut = { ...rule, name: 'shut', onStoreError: 'deny' } as const;
    for (let nth = 1; nth <= 20; nth++) {
      expect(await one.consume(open, 'ann')).toMatchObject({
        allowed: true,
        source: 'fallback',
        fallback: 'allow',
      });
    }
    const denied = { allowed: false, source: 'fallback', fallback: 'deny', retryAfterMs: 1000 };
    expect(await one.consume(shut, 'ann')).toMatchObject(denied);
  });
});

describe('the number of processes', () => {
  it('the number of processes is `instances` before the first heartbeat, and at least that after it', async () => {
    fleet = new Fleet(2, { instances: 4 });
    const [one] = fleet.limiters;
    expect(one!.instanceCount).toBe(4);
    await nextTurn(); // Two heartbeats are counted by now.
    expect(one!.instanceCount).toBe(4);
  });

  it('the number of processes comes from heartbeats and is kept while the store is down', async () => {
    fleet = new Fleet(3, { instances: 2 });
    const last = fleet.limiters[2]!;
    await until(() => last.instanceCount === 3, 'the heartbeats to be counted');
    fleet.loseStore();
    expect(await last.peek(rule, 'bob')).toMatchObject({ limit: 2 });
  });

  it.each([0, -1, 1.5, '4.5', NaN])('the number of processes cannot be %p', (instances) => {
    expect(() => new Fleet(1, { instances: instances as number })).toThrow(
      /instances: got .+; allowed: an integer from 1/,
    );
    fleet = new Fleet(1);
  });
});
