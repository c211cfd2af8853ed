import { describe, expect, it } from '@jest/globals';
import { expectTimeline, type DecideOptions } from '../../../test/support/timeline.js';
import { compileRule } from '../../rules/compile-rule.js';
import { MemoryStore, type Rule } from '../../index.js';
import { RateLimiter } from '../../limiter.js';
import { Reference } from '../../../test/support/reference.js';
import { tokenBucket } from './token-bucket.js';
import { warmUp, type WarmUpState } from './warm-up.js';

const NOON = Date.UTC(2024, 0, 1, 12) * 1000;

/** 10 per second, one every 100 ms when warm: 40 permits are stored when cold. */
const TEN = { limit: 10, window: 1e6, warmUp: 4e6 } as const;

/** One key whose requests are charged however long they have to wait. Instants are in microseconds. */
class Bucket {
  state: WarmUpState | undefined;

  constructor(private readonly parameters: Readonly<Record<'limit' | 'window' | 'warmUp', number>>) {}

  /** Takes a permit. Returns the wait. */
  take(now: number, cost = 1): number {
    const step = warmUp.step(this.state, now, cost, this.parameters, Infinity);
    if (!step.allowed) throw new Error('denied');
    this.state = step.state;
    return step.delay;
  }

  peek(now: number, cost: number, maxWait = 0) {
    return warmUp.step(this.state, now, cost, this.parameters, maxWait);
  }

  /** Refunds a permit. Returns whether there was a charge to refund. */
  refund(now: number, cost: number, receipt: number): boolean {
    const next = this.state && warmUp.refund(this.state, now, cost, this.parameters, receipt, true);
    if (next) this.state = next.state;
    return next !== undefined;
  }
}

/**
 * Guava's SmoothWarmingUp as its comments describe it: stored permits, a threshold, and the area under a line
 * with a slope. In microseconds, from cold.
 */
class Guava {
  private readonly threshold: number;
  private readonly maxPermits: number;
  private stored: number;
  private nextFree = 0;

  constructor(
    private readonly stable: number,
    private readonly warmUpPeriod: number,
  ) {
    const cold = 3 * stable;
    this.threshold = (0.5 * warmUpPeriod) / stable;
    this.maxPermits = this.threshold + (2 * warmUpPeriod) / (stable + cold);
    this.stored = this.maxPermits;
  }

  /** Takes a permit. Returns the wait. */
  take(now: number, permits = 1): number {
    if (now > this.nextFree) {
      const coolDownInterval = this.warmUpPeriod / this.maxPermits;
      this.stored = Math.min(this.maxPermits, this.stored + (now - this.nextFree) / coolDownInterval);
      this.nextFree = now;
    }
    const wait = this.nextFree - now;
    const spent = Math.min(permits, this.stored);
    this.nextFree += this.timeOf(spent) + (permits - spent) * this.stable;
    this.stored -= spent;
    return wait;
  }

  private timeOf(permits: number): number {
    const above = Math.max(0, this.stored - this.threshold);
    const fromSlope = Math.min(above, permits);
    const height = this.permitsToTime(above) + this.permitsToTime(above - fromSlope);
    return (fromSlope * height) / 2 + (permits - fromSlope) * this.stable;
  }

  private permitsToTime(permits: number): number {
    const slope = (3 * this.stable - this.stable) / (this.maxPermits - this.threshold);
    return this.stable + permits * slope;
  }
}

describe('a bucket that warms up in 4 s to 10 per second', () => {
  /** The rule for requests that do not wait. */
  function tenPerSecond(): DecideOptions {
    let now = 0;
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now }) });
    const rule: Rule = { algorithm: 'token-bucket', limit: 10, window: '1s', warmUp: '4s' };
    return (at, cost) => {
      now = NOON / 1000 + at;
      return limiter.consume(rule, 'ann', { cost });
    };
  }

  it('allows the first request at once, and the next after nearly three times the time per permit', async () => {
    await expectTimeline(
      tenPerSecond(),
      `
        at  cost | allowed  remaining  retry  reset
         0     1 | yes              0      0    295
         0     1 | no               0    295    295
       294     1 | no               0      1      1
       295     1 | yes              0      0    285
       580     1 | yes              0      0    275
       854    11 | no               0  never      1
       855     0 | yes             10      0      0
       855    10 | yes              0      0   2200
      `,
    );
  });

  it('takes the warm-up for the first half of the stored permits, and half of it for the second', () => {
    const bucket = new Bucket(TEN);
    bucket.take(NOON, 20);
    expect(bucket.take(NOON, 20)).toBe(4e6);
    expect(bucket.take(NOON, 10)).toBe(4e6 + 2e6);
    expect(bucket.take(NOON, 10)).toBe(4e6 + 2e6 + 1e6);
  });

  it('takes the same time for a large cost as for single permits', () => {
    const [one, many] = [new Bucket(TEN), new Bucket(TEN)];
    for (let hit = 0; hit < 40; hit++) one.take(NOON);
    many.take(NOON, 40);
    expect(many.state).toEqual(one.state);
  });

  it('cools at the full rate, and is cold after the warm-up', () => {
    const bucket = new Bucket(TEN);
    bucket.take(NOON, 40);
    const idleAt = NOON + 6e6;
    expect(bucket.state).toMatchObject({ nextFree: idleAt, part: 0, stored: 0 });
    expect(bucket.peek(idleAt + 1e6, 1)).toMatchObject({ state: { stored: 1e6 - 1e5 }, resetAfter: 1e5 });
    expect(bucket.peek(idleAt + 3e6, 1)).toMatchObject({ state: { stored: 3e6 - 1e5 }, resetAfter: 195e3 });
    expect(bucket.peek(idleAt + 4e6, 1)).toMatchObject({ state: { stored: 4e6 - 1e5 }, resetAfter: 295e3 });
    expect(bucket.peek(idleAt + 9e6, 1)).toMatchObject({ state: { stored: 4e6 - 1e5 }, resetAfter: 295e3 });
  });

  it('waits exactly as Guava does', () => {
    const guava = new Guava(1e5, 4e6);
    const bucket = new Bucket(TEN);
    const pauses = [0, 0, 3e5, 1e5, 0, 45e5, 0, 7e5, 0, 0, 29e5, 0, 5e5, 1e5, 1e5, 99e5, 0, 38e5, 0, 0];
    const costs = [1, 5, 2, 1, 17, 1, 40, 3, 50, 1, 1, 8, 2, 1, 1, 25, 25, 1, 10, 1];
    let now = NOON;
    const waits = pauses.map((pause, hit) => {
      now += pause;
      return { ours: bucket.take(now, costs[hit]), guavas: guava.take(now - NOON, costs[hit]) };
    });
    expect(waits.map(({ ours }) => ours)).toEqual(waits.map(({ guavas }) => Math.round(guavas)));
  });

  it('decides like an absent key when its state has expired', () => {
    const [kept, forgotten] = [new Bucket(TEN), new Bucket(TEN)];
    const step = kept.peek(NOON, 7);
    if (!step.allowed) throw new Error('denied');
    kept.state = step.state;
    const coldAt = NOON + step.expiresAfter;
    expect(kept.peek(coldAt - 1, 1)).not.toEqual(forgotten.peek(coldAt - 1, 1));
    expect(kept.peek(coldAt, 1)).toEqual(forgotten.peek(coldAt, 1));
  });

  it('neither warms nor cools when the clock steps back', () => {
    const bucket = new Bucket(TEN);
    bucket.take(NOON);
    expect(bucket.peek(NOON - 1e6, 1)).toMatchObject({ allowed: false, retryAfter: 1e6 + 295e3 });
    bucket.take(NOON - 1e6);
    expect(bucket.state).toMatchObject({ nextFree: NOON + 295e3 + 285e3, part: 0, stored: 38e5 });
  });
});

describe.each([
  ['a minute', 60e6],
  ['ten hours', 36_000e6],
  ['a year', 31_536_000e6],
])('a bucket that warms up, when the clock is set back by %s', (_length, by) => {
  const rule = { limit: 10, window: 1e6, warmUp: '4s' } as const;

  it('keeps its queue as long as it was, reports true waits, and stays as cold as it was', () => {
    const reference = new Reference(tokenBucket, rule);
    for (const delay of [0, 295e3, 580e3]) expect(reference.hit(NOON, 1, Infinity).delay).toBe(delay);
    const now = NOON + 1e5 - by;
    expect(reference.hit(now, 1)).toMatchObject({ allowed: false, retryAfter: 855e3, resetAfter: 855e3 });
    expect(reference.state).toMatchObject({ nextFree: now + 855e3, stored: 37e5, written: now });
    expect(reference.hit(now + 855e3 - 1, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(reference.hit(now + 855e3, 1)).toMatchObject({ allowed: true, resetAfter: 265e3 });
  });

  it('refunds the last charge of the moved queue only', () => {
    const reference = new Reference(tokenBucket, rule);
    reference.hit(NOON, 1);
    const now = NOON - by;
    expect(reference.refund(now, 1, NOON + 295e3)).toBe(false);
    expect(reference.refund(now, 1, now + 295e3)).toBe(true);
    expect(reference.state).toMatchObject({ nextFree: now + 195e3, written: now });
  });

  it('neither warms nor cools by the time of a clock that is set forward and back', () => {
    const reference = new Reference(tokenBucket, rule);
    reference.hit(NOON, 40);
    reference.hit(NOON + by, 1);
    expect(reference.state).toMatchObject({ nextFree: NOON + by + 295e3, stored: 39e5 });
    expect(reference.hit(NOON, 1)).toMatchObject({ allowed: false, retryAfter: 295e3 });
    expect(reference.hit(NOON + 295e3, 1)).toMatchObject({ allowed: true, resetAfter: 285e3 });
  });
});

describe('a bucket that warms up, when its limit changes', () => {
  const ruleOf = (limit: number) => ({ limit, window: 1e6, warmUp: '4s' }) as const;

  it('keeps the instant at which the next request may proceed: halved, doubled, 0 and back', () => {
    const reference = new Reference(tokenBucket, ruleOf(10));
    reference.hit(NOON, 1);
    for (const limit of [5, 20]) {
      reference.change(ruleOf(limit));
      expect(reference.hit(NOON, 1)).toMatchObject({ allowed: false, retryAfter: 295e3 });
    }
    reference.change(ruleOf(0));
    expect(reference.hit(NOON, 1)).toMatchObject({ allowed: false, retryAfter: null });
    reference.change(ruleOf(5));
    expect(reference.hit(NOON + 295e3, 1)).toMatchObject({ allowed: true, resetAfter: 560e3 });
  });

  it('rounds a fraction of a microsecond of another limit up', () => {
    const reference = new Reference(tokenBucket, ruleOf(3));
    const { resetAfter } = reference.hit(NOON, 1);
    expect(reference.state).toMatchObject({ nextFree: NOON + resetAfter - 1, part: 1, limit: 3 });
    reference.change(ruleOf(7));
    expect(reference.hit(NOON, 1)).toMatchObject({ retryAfter: resetAfter });
    reference.hit(NOON, 1, Infinity);
    expect(reference.state).toMatchObject({ part: 1, limit: 7 });
  });
});

describe('requests that wait for a bucket with a warm-up', () => {
  it('continue at the reported time, and requests that may wait less get the wait', () => {
    const bucket = new Bucket(TEN);
    expect([bucket.take(NOON), bucket.take(NOON), bucket.take(NOON)]).toEqual([0, 295e3, 580e3]);
    expect(bucket.peek(NOON, 1, 854_999)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(bucket.peek(NOON, 1, 855e3)).toMatchObject({ allowed: true, delay: 855e3 });
  });

  it('are refunded at the full rate while no other request waits behind them', () => {
    const bucket = new Bucket(TEN);
    bucket.take(NOON);
    bucket.take(NOON);
    expect(bucket.refund(NOON, 1, NOON + 295e3)).toBe(false);
    expect(bucket.refund(NOON, 1, NOON + 580e3)).toBe(true);
    expect(bucket.state).toMatchObject({ nextFree: NOON + 480e3, part: 0, stored: 38e5 });
    expect(bucket.refund(NOON + 480e3, 1, NOON + 480e3)).toBe(false);
  });

  it('can use acquire', async () => {
    const rule: Rule = { algorithm: 'token-bucket', limit: 1000, window: '1s', warmUp: '10ms' };
    const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => NOON / 1000 }) });
    const first = await limiter.acquire(rule, 'ann');
    const second = await limiter.acquire(rule, 'ann', { maxWait: '3ms' });
    const third = await limiter.acquire(rule, 'ann', { maxWait: '3ms' });
    expect([first.delayMs, second.delayMs, third.allowed, third.retryAfterMs]).toEqual([0, 3, false, 3]);
  });
});

describe('an invalid warm-up', () => {
  const quota = { algorithm: 'token-bucket', limit: 10, window: '1s', warmUp: '1m' } as const;

  it.each([
    [{ ...quota, warmUp: '0s' }, '.warmUp: got "0s"; allowed: an integer with a unit'],
    [
      { ...quota, burst: 10 },
      ': burst is 10; allowed: none with warmUp, which stores time instead of tokens',
    ],
    [{ ...quota, refill: 'continuous' }, ': refill is "continuous"; allowed: none with warmUp'],
    [{ ...quota, initial: 10 }, ': initial is 10; allowed: none with warmUp'],
    [{ ...quota, cost: 11 }, '.cost: got 11; allowed: at most 10'],
    [
      { ...quota, window: '1ms', limit: 1001 },
      ': limit is 1001; allowed with warmUp: at most one a microsecond',
    ],
    [{ ...quota, algorithm: 'gcra' }, '.warmUp: no such option of gcra'],
  ])('is rejected: %j', (rule, message) => {
    expect(() => compileRule(rule as Rule)).toThrow(message);
  });
});
