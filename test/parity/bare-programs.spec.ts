import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { openBare } from '../../bench/bare.mjs';
import { MemoryStore, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const WINDOW_MS = 7000;
const STEP = 1_166_667; // microseconds: a little more than half of the time of a permit

describe('the bare programs that the benchmarks compare with', () => {
  const redis = new Redis(redisUrl());
  afterAll(() => redis.disconnect());

  it.each(['gcra', 'sliding-window-log'] as const)(
    'decide a rate of 3 per 7 s as exactly as this library: %s',
    async (algorithm) => {
      let now = 1_700_000_000_000_000;
      const limiter = new RateLimiter({ store: new MemoryStore({ clock: () => now / 1000 }) });
      const rule: Rule = { algorithm, limit: 3, window: `${WINDOW_MS}ms` };
      const { one } = await openBare(redis, { algorithm, functions: false });
      const key = uniquePrefix() + algorithm;
      for (let nth = 0; nth < 1000; nth += 1, now += STEP) {
        const decided = await limiter.consume(rule, 'ann');
        const [allowed, remaining, wait, reset] = await one([key], 3, WINDOW_MS * 1000, now);
        expect(
          [allowed, remaining, wait, reset].map((each, nth) => (nth < 2 ? each : Math.ceil(each! / 1000))),
        ).toEqual([Number(decided.allowed), decided.remaining, decided.retryAfterMs, decided.resetAfterMs]);
      }
      await limiter.close();
    },
  );
});
