import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from '../../lib/limiter.js';
import type { Rule } from '../../lib/index.js';
import { DEFINITIONS } from '../support/examples.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';

const TOKENS = { name: 'tokens', window: '1h', limit: 30_000, algorithm: 'gcra' } as const;
const STREAMS = { name: 'streams', algorithm: 'concurrency', limit: 200, lease: '1h' } as const;
const CHUNK = 10;
const CHUNKS_A_SECOND = 10;

const open: (() => Promise<void>)[] = [];
afterEach(() => Promise.all(open.splice(0).map((close) => close())));

/** Ends when the store has answered the last report of usage. */
function sentBy(reservation: object): Promise<void> | undefined {
  return (reservation as { readonly usage?: { readonly sent?: Promise<void> } }).usage?.sent;
}

/** Runs 200 streams of four processes at once until they have ended or have to stop. Returns what they used and was left. */
async function run(kind: (typeof STORES)[number], estimate: number, lengthOf: (nth: number) => number) {
  const time = new VirtualTime();
  const store = virtualStore(kind, time);
  const prefix = uniquePrefix();
  const limiters = [1, 2, 3, 4].map(() => new RateLimiter({ store, prefix, onStoreError: 'deny' }));
  open.push(async () => {
    await Promise.all(limiters.map((limiter) => limiter.close()));
    await store.close();
  });
  let running = await Promise.all(
    Array.from({ length: 200 }, async (_, nth) => {
      const limiter = limiters[nth % 4]!;
      const budget = await limiter.reserve([TOKENS, STREAMS], 'ann', { cost: { tokens: estimate } });
      return { budget, used: 0, left: lengthOf(nth) };
    }),
  );
  running = running.filter(({ budget }) => budget.allowed);
  let used = 0;
  for (let step = 0; running.length > 0 && step < 600; step += 1) {
    time.advance(1000 / CHUNKS_A_SECOND);
    const ended = running.filter((stream) => {
      stream.used += Math.min(CHUNK, stream.left);
      stream.left -= Math.min(CHUNK, stream.left);
      return !stream.budget.used({ tokens: stream.used }) || stream.left === 0;
    });
    running = running.filter((stream) => !ended.includes(stream));
    used += ended.reduce((sum, stream) => sum + stream.used, 0);
    await Promise.all(ended.map((stream) => stream.budget.settle({ tokens: stream.used })));
    await Promise.all(running.map(({ budget }) => sentBy(budget)));
  }
  const [tokens, streams] = (await limiters[0]!.peek([TOKENS, STREAMS], 'ann', { cost: 0 })).decisions;
  return {
    used,
    refilled: (time.now - new VirtualTime().now) / 120,
    tokens: tokens!.remaining,
    streams: streams!.remaining,
  };
}

describe.each(STORES)('200 parallel streams of unknown length over four limiters, with %s', (kind) => {
  it('exceed the limit by at most a second of output and a chunk each, whatever was estimated', async () => {
    const { used, refilled, tokens, streams } = await run(kind, 20, () => 2_000);
    expect(used).toBeGreaterThanOrEqual(TOKENS.limit);
    expect(used).toBeLessThanOrEqual(TOKENS.limit + refilled + 200 * (CHUNKS_A_SECOND * CHUNK + CHUNK));
    expect([tokens, streams]).toEqual([0, 200]);
  });

  it('charge what they used when less was used than estimated', async () => {
    const { used, refilled, tokens, streams } = await run(kind, 150, (nth) => 20 + (nth % 50));
    expect(TOKENS.limit - tokens - used).toBeLessThanOrEqual(0);
    expect(TOKENS.limit - tokens - used).toBeGreaterThanOrEqual(-Math.ceil(refilled));
    expect(streams).toBe(200);
  });
});

const WINDOW = 60_000;
const STEP = 100;
const WINDOWS = 5;

/**
 * The part of a budget that is used, by what bounds a client, and what it gives in five windows besides five limits. In a
 * window that slides, what is reserved and not used is missing at every instant: here, a tenth.
 */
const USED = { rate: [97, 1], 'each window': [97, 0], 'any window': [90, 0] } as const;

/** The algorithms that count tokens at once. */
const COUNTED = DEFINITIONS.flatMap(({ name, bound, options }) =>
  bound === 'at a time' || 'queue' in options ? [] : [[name, ...USED[bound]] as const],
);

describe.each(STORES)('a customer whose estimates are three times too high, with %s', (kind) => {
  it.each(COUNTED)(
    'uses a budget of %s by at least %d %%, with streams of up to a tenth of the window and twice the demand',
    async (algorithm, percent, burst) => {
      const time = new VirtualTime();
      const store = virtualStore(kind, time);
      const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
      open.push(async () => {
        await limiter.close();
        await store.close();
      });
      const rule = { name: 'tokens', window: '1m', limit: 9_000, algorithm } as Rule;
      let demand = 0;
      let used = 0;
      let running: { endsAt: number; settle: () => Promise<boolean> }[] = [];
      for (let step = 0; step < (WINDOWS * WINDOW) / STEP; step += 1) {
        const ended = running.filter(({ endsAt }) => endsAt <= time.now);
        running = running.filter(({ endsAt }) => endsAt > time.now);
        await Promise.all(ended.map(({ settle }) => settle()));
        for (demand += (2 * rule.limit * STEP) / WINDOW; demand > 0;) {
          const actual = 20 + ((step * 7) % 41);
          demand -= actual;
          const budget = await limiter.reserve(rule, 'ann', { cost: 3 * actual });
          if (!budget.allowed) continue;
          used += actual;
          const endsAt = time.now + ((step * 13) % 60) * STEP;
          running.push({ endsAt, settle: () => budget.settle(actual) });
        }
        time.advance(STEP);
      }
      const budget = rule.limit * (WINDOWS + burst);
      expect(used / budget).toBeGreaterThanOrEqual(percent / 100);
      expect(used / budget).toBeLessThanOrEqual(1.01);
    },
    60_000,
  );
});
