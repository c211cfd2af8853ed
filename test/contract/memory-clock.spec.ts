import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore, type ConcurrencyRule, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { Allowed } from '../../lib/contracts/algorithm.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { DEFAULT_ALGORITHM, type AnyRule } from '../../lib/rules/rule.js';
import { algorithms } from '../../lib/algorithms/registry.js';
import { VirtualTime } from '../support/virtual-store.js';
import { EVERY_OPTION } from './every-rule.js';

const HOUR = 3_600_000;

function isExact({ algorithm = DEFAULT_ALGORITHM }: AnyRule): boolean {
  return !('exact' in algorithms[algorithm]);
}

/** Returns the milliseconds until the state of a new subject expires after a charge of 5. */
function expiryOf(rule: AnyRule, now: number): number {
  const { algorithm, parameters } = compileRule(rule);
  const { expiresAfter } = algorithm.step(undefined, now * 1000, 5, parameters) as Allowed<unknown>;
  return Math.ceil(expiresAfter / 1000);
}

describe('a memory store with an injected clock, which may step back', () => {
  let time: VirtualTime;
  let start: number;
  let store: MemoryStore;
  let limiter: RateLimiter;

  beforeEach(() => {
    jest.useFakeTimers();
    time = new VirtualTime();
    start = time.now;
    store = new MemoryStore({ clock: time.clock });
    limiter = new RateLimiter({ store });
  });

  afterEach(async () => {
    await limiter.close();
    await store.close();
    jest.useRealTimers();
  });

  /** Advances the clock to an instant, and has the store delete what may be deleted then. */
  async function sweepAt(at: number): Promise<void> {
    time.now = start + at;
    await jest.advanceTimersByTimeAsync(2000);
  }

  it.each(EVERY_OPTION)(
    'a clock that steps back within an hour does not make permits available twice: $algorithm ($name)',
    async (rule) => {
      const { resetAfterMs } = await limiter.consume(rule, 'ann', { cost: 5 });
      await sweepAt(resetAfterMs + HOUR - 1);
      time.now = start;
      expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, resetAfterMs });
    },
  );

  it.each(EVERY_OPTION)(
    'the memory of expired counters is freed after an hour: $algorithm ($name)',
    async (rule) => {
      const { resetAfterMs } = await limiter.consume(rule, 'ann', { cost: 5 });
      // The counter of an approximate algorithm may be full again before its state expires.
      const expiresAfterMs = isExact(rule) ? resetAfterMs : expiryOf(rule, start);
      await sweepAt(expiresAfterMs + HOUR - 1);
      expect(store.size).toBe(1);
      await sweepAt(expiresAfterMs + HOUR);
      expect([store.size, jest.getTimerCount()]).toEqual([0, 0]);
    },
  );

  it("a clock that steps back within an hour of a block's end does not end the block early", async () => {
    const rule: Rule = { algorithm: 'gcra', limit: 5, window: '1s', block: '1m' };
    await limiter.consume(rule, 'ann', { cost: 5 });
    await limiter.consume(rule, 'ann');
    await sweepAt(60_000 + HOUR - 1);
    expect((await limiter.peek(rule, 'ann')).allowed).toBe(true);
    time.now = start + 59_999;
    expect(await limiter.peek(rule, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    await sweepAt(60_000 + HOUR);
    expect(store.size).toBe(0);
  });

  it('a clock that steps back into a lease does not release the permit of a crashed process', async () => {
    const rule: ConcurrencyRule = { algorithm: 'concurrency', limit: 1, lease: '1m' };
    await limiter.hold(rule, 'ann');
    await limiter.close(); // As if its process had died: its lease is not renewed.
    await sweepAt(60_000 + HOUR - 1);
    expect((await limiter.peek(rule, 'ann')).allowed).toBe(true);
    time.now = start + 59_999;
    expect(await limiter.peek(rule, 'ann')).toMatchObject({ allowed: false, retryAfterMs: 1 });
  });
});
