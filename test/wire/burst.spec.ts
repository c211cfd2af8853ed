import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Decision, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { notRunSince } from '../support/not-run.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';

const LIMIT = 100;
const RULE: Rule = { algorithm: 'gcra', limit: LIMIT, window: '1d' };
const PATIENCE_MS = 120_000;

const DEFAULT_TIMEOUT_MS = 50;
/**
 * On a busy machine, Redis may not run for longer than the default timeout: where a deadline passed under load, Redis
 * had had 0.0 ms of processor time since the call was written. A deadline can exclude only the time in which its own
 * process did not run.
 */
const TIMEOUT_MS = 1000;

/** Returns how many requests were allowed or denied, by source. */
function tally(decisions: readonly Decision[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { allowed, source } of decisions) {
    const kind = `${source} ${allowed ? 'allowed' : 'denied'}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

describe('many calls in one turn of the event loop', () => {
  let server: RedisServer;
  let store: RedisStore;

  beforeAll(async () => {
    server = await startRedisServer();
  });

  afterAll(() => server.stop());

  /** @param isWarm whether there is a connection before the burst */
  async function burst(
    calls: number,
    subjectOf: (call: number) => string,
    isWarm: boolean,
    timeout = TIMEOUT_MS,
  ) {
    store = new RedisStore({ redis: server.url, timeout, connectTimeout: 10 * TIMEOUT_MS });
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
    'Redis decides %i calls of one turn for one subject exactly on a %s connection',
    async (calls, state) => {
      const { tally, opened } = await burst(calls, () => 'ann', state === 'warm');
      expect(opened).toEqual([]);
      expect(tally).toEqual({ 'redis allowed': LIMIT, 'redis denied': calls - LIMIT });
    },
    PATIENCE_MS,
  );

  it.each(['cold', 'warm'])(
    'Redis decides 100,000 calls of one turn on a %s connection within the default timeout',
    async (state) => {
      const calls = 100_000;
      const notRun = notRunSince(() => [server.pid]);
      const { tally } = await burst(calls, () => 'ann', state === 'warm', DEFAULT_TIMEOUT_MS);
      if (tally['fallback allowed'] === undefined) {
        expect(tally).toEqual({ 'redis allowed': LIMIT, 'redis denied': calls - LIMIT });
      } else {
        expect(notRun()).toBeGreaterThan(DEFAULT_TIMEOUT_MS);
        expect(tally['redis allowed'] ?? 0).toBeLessThanOrEqual(LIMIT);
      }
    },
    PATIENCE_MS,
  );

  it.each(['cold', 'warm'])(
    'Redis counts 20,000 subjects of one turn on a %s connection',
    async (state) => {
      const { tally, opened } = await burst(20_000, (call) => `user-${call}`, state === 'warm');
      expect(opened).toEqual([]);
      expect(tally).toEqual({ 'redis allowed': 20_000 });
    },
    PATIENCE_MS,
  );
});
