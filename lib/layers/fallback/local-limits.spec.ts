import { describe, expect, it } from '@jest/globals';
import { plainRules } from '../../../test/support/examples.js';
import { sharedBy } from '../../../test/support/shared-by.js';
import { MemoryStore, type Rule } from '../../index.js';
import { RateLimiter } from '../../limiter.js';
import type { BaseStore } from '../../store.js';

/** A store that all processes share. It is unavailable now, and knew the number of processes before. */
class LostStore extends MemoryStore implements BaseStore {
  override readonly source = 'redis' as never;
  override readonly shared;

  constructor(instances: number) {
    super();
    this.shared = sharedBy(async () => instances);
  }

  override decide(): never {
    throw new Error('gone');
  }
}

/** Creates the limiter of one of several processes, with a clock that stands still. */
async function processAmong(instances: number, rule: Rule) {
  const fallback = new MemoryStore({ clock: () => 1_700_000_000_000 });
  const limiter = new RateLimiter({ store: new LostStore(instances), fallback });
  await limiter.peek(rule, 'nobody'); // The first heartbeat gets its reply meanwhile.
  return limiter;
}

describe('the local fallback', () => {
  it.each(plainRules({ limit: 10, windowMs: 60_000 }))(
    'allows each process its share of the limit, with $name',
    async (rule) => {
      const limiter = await processAmong(3, rule);
      const decisions = [];
      for (let nth = 1; nth <= 4; nth++) decisions.push(await limiter.consume(rule, 'ann'));
      expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
        [true, 'fallback'],
        [true, 'fallback'],
        [true, 'fallback'],
        [false, 'fallback'],
      ]);
      expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0]);
    },
  );

  it('allows one permit per process when there are more processes than permits', async () => {
    const rule: Rule = { algorithm: 'fixed-window', limit: 2, window: '1m' };
    const limiter = await processAmong(100, rule);
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, limit: 1, fallback: 'local' });
  });

  it('denies a cost that fits the limit but not the share, with a retryAfterMs of one second', async () => {
    const rule: Rule = { algorithm: 'fixed-window', limit: 8, window: '1m' };
    const limiter = await processAmong(4, rule);
    const denied = { allowed: false, source: 'fallback', fallback: 'deny', retryAfterMs: 1000 };
    expect(await limiter.consume(rule, 'ann', { cost: 3 })).toMatchObject(denied);
    expect(await limiter.consume(rule, 'ann', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    const never = { allowed: false, fallback: 'local', retryAfterMs: null };
    expect(await limiter.consume(rule, 'ann', { cost: 9 })).toMatchObject(never);
  });

  it('divides the rate among the processes even if the burst is too small to be divided', async () => {
    const rule: Rule = { algorithm: 'gcra', limit: 60, window: '1m', burst: 1 };
    const limiter = await processAmong(4, rule);
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: true });
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 4000 });
  });

  it('refunds its own charges', async () => {
    const rule: Rule = { algorithm: 'fixed-window', limit: 9, window: '1m' };
    const limiter = await processAmong(3, rule);
    const reservation = await limiter.reserve(rule, 'ann', { cost: 3 });
    await reservation.settle(1);
    expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 2 });
    const decision = await limiter.consume(rule, 'ann', { cost: 2 });
    expect(await limiter.refund(decision)).toBe(true);
    expect(await limiter.peek(rule, 'ann', { cost: 0 })).toMatchObject({ remaining: 2 });
  });

  it('charges nothing when another rule of the request is denied', async () => {
    const local: Rule = { name: 'local', algorithm: 'gcra', limit: 5, window: '1m' };
    const strict: Rule = { name: 'strict', algorithm: 'gcra', limit: 5, window: '1m', onStoreError: 'deny' };
    const limiter = await processAmong(1, local);
    expect(await limiter.consume([local, strict], 'ann')).toMatchObject({
      allowed: false,
      rule: 'strict',
      source: 'fallback',
      decisions: [
        { rule: 'local', allowed: true, remaining: 5, source: 'fallback' },
        { rule: 'strict', allowed: false, retryAfterMs: 1000, source: 'fallback' },
      ],
    });
  });

  it("reports its own result when another rule of the request has onStoreError: 'allow'", async () => {
    const local: Rule = { name: 'local', algorithm: 'gcra', limit: 5, window: '1m' };
    const open: Rule = { name: 'open', algorithm: 'gcra', limit: 5, window: '1m', onStoreError: 'allow' };
    const limiter = await processAmong(1, local);
    expect(await limiter.consume([open, local], 'ann')).toMatchObject({
      allowed: true,
      rule: 'local',
      source: 'fallback',
    });
  });

  it('counts in its own memory store when no fallback store is given', async () => {
    const limiter = new RateLimiter({ store: new LostStore(1) });
    const rule: Rule = { limit: 1, window: '1h' };
    expect(await limiter.consume(rule, 'ann')).toMatchObject({
      allowed: true,
      source: 'fallback',
      fallback: 'local',
    });
    expect(await limiter.consume(rule, 'ann')).toMatchObject({
      allowed: false,
      source: 'fallback',
      fallback: 'local',
    });
    await limiter.close();
  });
});
