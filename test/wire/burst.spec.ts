import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimiter, RedisStore, type Decision, type Rule } from '../../lib/index.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { hasRedisBinary, uniquePrefix } from '../support/redis/shared-redis.js';

const LIMIT = 100;
const RULE: Rule = { algorithm: 'gcra', limit: LIMIT, window: '1d' };
const PATIENCE_MS = 120_000;

/** A machine that is busy with other work may not run Redis for longer than the default of 50 ms. */
const TIMEOUT_MS = 1000;

/** How many decisions were allowed or denied, by what decided. */
function tally(decisions: readonly Decision[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { allowed, source } of decisions) {
    const kind = `${source} ${allowed ? 'allowed' : 'denied'}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

(hasRedisBinary() ? describe : describe.skip)('many calls in one turn of the event loop', () => {
  let server: RedisServer;
  let store: RedisStore;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(() => server.stop());

  /** @param isWarm whether the first connection stands before the burst */
  async function burst(calls: number, subjectOf: (call: number) => string, isWarm: boolean) {
    store = new RedisStore({ redis: server.url, timeout: TIMEOUT_MS, connectTimeout: 10 * TIMEOUT_MS });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'allow' });
    const opened: string[] = [];
    limiter.events.on('breaker', ({ state, error }) => opened.push(`${state}: ${String(error)}`));
    if (isWarm) await store.ready();
    try {
      const decisions = await Promise.all(
        Array.from({ length: calls }, (_, call) => limiter.consume(RULE, subjectOf(call))),
      );
      return { tally: tally(decisions), opened };
    } finally {
      await limiter.close();
      await store.close();
    }
  }

  it.each([
    [5_000, 'cold'],
    [20_000, 'cold'],
    [100_000, 'cold'],
    [20_000, 'warm'],
    [100_000, 'warm'],
  ])(
    '%i calls for one subject allow exactly the limit, on a %s connection, and Redis decides them all',
    async (calls, state) => {
      const { tally, opened } = await burst(calls, () => 'ann', state === 'warm');
      expect(opened).toEqual([]);
      expect(tally).toEqual({ 'redis allowed': LIMIT, 'redis denied': calls - LIMIT });
    },
    PATIENCE_MS,
  );

  it.each(['cold', 'warm'])(
    '20,000 subjects that come at once on a %s connection are all counted by Redis',
    async (state) => {
      const { tally, opened } = await burst(20_000, (call) => `user-${call}`, state === 'warm');
      expect(opened).toEqual([]);
      expect(tally).toEqual({ 'redis allowed': 20_000 });
    },
    PATIENCE_MS,
  );
});
