import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ConcurrencyRule, Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisStore } from '../../lib/redis.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { openRedisStore } from '../support/redis-store.js';
import { takeCensus, type Kind } from './census.js';
import { liveAndDie, type Burst } from './lives.js';
import { mostInAny, mostOnTheClock } from './most-in-a-window.js';
import { flood, PATIENCE_MS, scaled, tell } from './scale.js';
import { ms } from '../support/milliseconds.js';

const SUBJECTS = 1000;
const LIMIT = 2;
const WINDOW = 3000;

const ON_THE_CLOCK: Rule = { algorithm: 'fixed-window', align: 'clock', limit: LIMIT, window: ms(WINDOW) };
const BLOCKING: Rule = { algorithm: 'sliding-window-log', limit: LIMIT, window: ms(WINDOW), block: '1s' };
const HOLDING: ConcurrencyRule = { algorithm: 'concurrency', limit: 100, lease: '1500ms' };
const RULES = [ON_THE_CLOCK, BLOCKING];

describe('processes killed while they send ten times the limit', () => {
  const prefix = 'killed:';
  const census = new Map<string, Kind>();
  let server: RedisServer;
  let redis: Redis;
  let store: RedisStore;
  let told: Burst[];

  beforeAll(async () => {
    server = await startRedisServer();
    redis = new Redis(server.url);
    store = await openRedisStore({ redis: server.url });
    const task = {
      url: server.url,
      prefix,
      rules: RULES,
      lease: HOLDING,
      subjects: SUBJECTS,
      burst: 10 * LIMIT,
    };
    const died = () => takeCensus(redis, census);
    const span = {
      lives: 3,
      endsAt: performance.now() + scaled(60_000, 0),
      bursts: scaled(2000, 350),
      died,
    };
    // Two at a time, on the same subjects.
    told = (await Promise.all([1, 2].map(() => liveAndDie(task, span)))).flat();
  }, PATIENCE_MS);

  afterAll(async () => {
    await store.close();
    redis.disconnect();
    await server.stop();
  });

  it('killed processes leave no key that lives longer than its window', async () => {
    expect([...census.keys()].sort()).toEqual(
      ['block', 'denied', ...[...RULES, HOLDING].map(({ algorithm }) => algorithm)].sort(),
    );
    for (const [kind, { leaked, longestMs }] of census) {
      expect([kind, leaked]).toEqual([kind, []]);
      expect([kind, longestMs > WINDOW + 2]).toEqual([kind, false]);
    }
  });

  it('killed processes together never get more than the limit in a window', () => {
    const [onTheClock, blocking] = RULES.map((_, index) => told.filter(({ rule }) => rule === index));
    expect(mostOnTheClock(onTheClock!, WINDOW)).toBe(LIMIT);
    expect(mostInAny(blocking!, WINDOW)).toBe(LIMIT);
    const [asked, admitted] = [total(told, 'asked'), total(told, 'admitted')];
    expect(asked).toBeGreaterThan(4 * admitted);
    tell('killed', { bursts: told.length, asked, admitted });
  });

  it(
    'killed processes leave no block and no permit after their time',
    async () => {
      // The heartbeats are kept for an hour, so that lost data is found after an outage.
      const keys = async (): Promise<string[]> =>
        (await redis.keys('*')).filter((key) => !key.endsWith('{instances}'));
      await until(async () => (await keys()).length === 0, 'every key to be gone', 60_000);
      const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
      const refused: number[] = [];
      await flood(SUBJECTS, async (subject) => {
        const { allowed } = await limiter.consume(RULES[subject % 2]!, String(subject));
        if (!allowed) refused.push(subject);
      });
      expect(refused).toEqual([]);
    },
    PATIENCE_MS,
  );
});

function total(bursts: readonly Burst[], what: 'asked' | 'admitted'): number {
  return bursts.reduce((sum, burst) => sum + burst[what], 0);
}
