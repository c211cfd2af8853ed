import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import { FORWARD } from './forward-timeline.js';
import { Play } from './play.js';
import { isShared } from './sayable-rule.js';
import { timelines, type Timeline } from './random-timeline.js';

const names = Object.keys(algorithms) as AlgorithmName[];

describe('denials and peeks', () => {
  const time = new VirtualTime();
  let store: RedisStore;
  let redis: Redis;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
    redis = new Redis(redisUrl());
  });

  afterAll(async () => {
    redis.disconnect();
    await store.close();
  });

  it('a denial or a peek changes neither a byte nor the time to live in Redis, for any rules', async () => {
    let denied = 0;
    const property = fc.asyncProperty(timelines(names, { minLength: 1, maxLength: 4 }), async (timeline) => {
      denied += await denialsWithoutTrace(withoutTraces(timeline));
    });
    await fc.assert(property, { ...FORWARD, numRuns: 40 });
    expect(denied).toBeGreaterThan(500);
  });

  /** Plays a timeline on Redis. Returns the number of denials. */
  async function denialsWithoutTrace(timeline: Timeline): Promise<number> {
    const play = new Play(timeline, uniquePrefix());
    let denied = 0;
    for (const step of timeline.steps) {
      play.pass(step);
      time.now = play.now / 1000;
      const act = play.prepare(step);
      if (step.does !== 'consume' && step.does !== 'peek') {
        await act(store);
        continue;
      }
      await Promise.all(play.rules.keys.map((key) => redis.persist(key))); // Any write would set an expiry.
      const before = await contents(play.rules.keys);
      const isDenied = play.note(await act(store));
      if (isDenied || step.does === 'peek') expect(await contents(play.rules.keys)).toEqual(before);
      if (isDenied) denied++;
    }
    await store.reset(play.rules.blockable(play.now));
    return denied;
  }

  /** Every byte, and the time to live of each key. */
  async function contents(keys: readonly string[]): Promise<readonly unknown[]> {
    const entries = keys.map(async (key) => [
      (await redis.dumpBuffer(key))?.toString('hex'),
      await redis.pttl(key),
    ]);
    return Promise.all(entries);
  }
});

/**
 * A denial is supposed to write its block, with `share` the tenant that asks, and a state from before the clock was set
 * back.
 */
function withoutTraces(timeline: Timeline): Timeline {
  const steps = timeline.steps.filter(({ does }) => does !== 'change').map(forward);
  const rules = timeline.rules.map((rule) => {
    return { ...rule, block: undefined, ...(isShared(rule) && { delayAfter: undefined }) };
  });
  return { ...timeline, steps, rules };
}

/** Returns the same step, in which the clock is not set back. */
function forward(step: Timeline['steps'][number]): Timeline['steps'][number] {
  if (step.after === 'twelfths') return { ...step, twelfths: Math.abs(step.twelfths) };
  return step.after === 'step' ? { ...step, seconds: Math.abs(step.seconds) } : step;
}
