import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { BaseStore } from '../../contracts/base-store.js';
import type { Adjustment, DecideOptions, Hit, HitResult, Store } from '../../contracts/store.js';
import { FallbackLayer } from '../../layers/fallback/fallback.js';
import { compileRule } from '../../rules/compile-rule.js';
import { Keys } from '../../rules/keys.js';
import { AwakeTime } from './link/deadline.js';
import { repeatMoving } from './breaker/moving-slot.js';
import { decideParts } from './wire/batches.js';
import type { Call } from './wire/call.js';

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

/** A clock, from 0, and a function that keeps the process busy for 4 seconds, which count as 6 ms. */
function awakeClock() {
  const time = new AwakeTime(5);
  const start = time.now;
  const awake = () => time.now - start;
  const beBusy = () => {
    jest.advanceTimersByTime(4000);
    time.tick();
  };
  return { awake, beBusy };
}

const ALLOWED: HitResult = {
  allowed: true,
  remaining: 1,
  retryAfter: 0,
  resetAfter: 0,
  delay: 0,
  source: 'redis',
  now: 0,
};
const DENIED: HitResult = { ...ALLOWED, allowed: false, remaining: 0 };

/** Two hits of a request whose second one is denied after a busy time. */
function twoHits() {
  const { awake, beBusy } = awakeClock();
  const keys = new Keys('rl:', Date.now);
  const rule = compileRule({ window: '1m', limit: 3 });
  const hits = ['ann', 'bob'].flatMap((subject) => keys.keyed(rule).hits(subject));
  const within: (number | undefined)[] = [];
  const store = {
    timeout: 1000,
    awake,
    decide: (_hits: readonly Hit[], options: DecideOptions) => {
      within.push(options.within);
      return [ALLOWED];
    },
    adjust: async (_adjustments: readonly Adjustment[], options?: Pick<DecideOptions, 'within'>) => {
      within.push(options?.within);
      return [true];
    },
  };
  return { hits, within, store, beBusy };
}

it('leaves the charge in another slot nearly the whole deadline to be refunded after a busy time', async () => {
  const { hits, within, store, beBusy } = twoHits();
  const batches = {
    decide: async ([hit]: readonly Hit[]) => {
      if (hit === hits[0]) return [ALLOWED];
      beBusy();
      return [DENIED];
    },
  };
  const parts = hits.map((hit) => [hit]);
  const results = await decideParts(batches, store, hits, parts, {});
  expect(results.map(({ allowed }) => allowed)).toEqual([true, false]);
  expect(within).toEqual([994, 994]);
});

it('leaves the charge of a server nearly the whole deadline to be refunded if the fallback denies after a busy time', async () => {
  const { hits, within, store, beBusy } = twoHits();
  const lost: HitResult = { ...DENIED, unavailable: new Error('lost') };
  const next = {
    ...store,
    decide: (asked: readonly Hit[], options: DecideOptions) =>
      asked.length === 2 ? [ALLOWED, lost] : store.decide(asked, options),
  } as unknown as Store;
  const local = {
    clock: Date.now,
    decide: async () => {
      beBusy();
      return [DENIED];
    },
  } as unknown as BaseStore;
  const layer = new FallbackLayer(next, {
    onStoreError: 'local',
    local,
    instances: () => 1,
    shared: store,
    failed: () => undefined,
  });
  const results = await layer.decide(hits, {});
  expect(results.map(({ allowed }) => allowed)).toEqual([true, false]);
  expect(within).toEqual([994, 994]);
});

it('repeats a call to a moving slot after a busy time', async () => {
  const { awake, beBusy } = awakeClock();
  const attempts: (number | undefined)[] = [];
  const run = async (call: Call) => {
    attempts.push(call.timeout);
    if (attempts.length > 1) return 'reply';
    beBusy();
    throw new Error('NOSCRIPT No matching script.');
  };
  const call = { left: () => 1000 - awake(), isShared: false } as unknown as Call;
  const reply = repeatMoving({ run }, call, new Error('NOSCRIPT No matching script.'));
  await jest.advanceTimersByTimeAsync(100);
  expect(await reply).toBe('reply');
  expect(attempts[1]).toBeGreaterThan(900);
});
