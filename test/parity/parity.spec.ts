import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { MemoryStore, type RedisStore } from '../../lib/index.js';
import { openRedisStore } from '../support/redis-store.js';
import { STILL_REAL } from '../contract/still-real.js';
import { VirtualTime } from '../support/virtual-store.js';
import { timelines, STEPS_AT_LEAST, type Timeline } from './random-timeline.js';
import { replay } from './replay.js';

const STEPS = 10_000;
const seed = Number(process.env['PARITY_SEED'] ?? 20_240_229);
const names = Object.keys(algorithms) as AlgorithmName[];

describe(`Lua and its twin on random timelines (PARITY_SEED=${seed})`, () => {
  const time = new VirtualTime();
  let lua: RedisStore;
  let twin: MemoryStore;

  beforeAll(async () => {
    // The memory store sweeps by the real time; a key swept before the clock steps back is one that Redis has.
    jest.useFakeTimers({ doNotFake: [...STILL_REAL] });
    lua = await openRedisStore({ clock: time.clock });
    twin = new MemoryStore({ clock: time.clock });
  });

  afterAll(async () => {
    await lua.close();
    await twin.close();
  });

  it.each(names)(
    '%s decides alike with Redis and without it',
    async (name) => {
      expect(await stepsAgreed(timelines([name], { minLength: 1, maxLength: 1 }))).toBeGreaterThanOrEqual(
        STEPS,
      );
    },
    300_000,
  );

  it('a mix of one to six rules decides alike with Redis and without it', async () => {
    expect(await stepsAgreed(timelines(names, { minLength: 1, maxLength: 6 }))).toBeGreaterThanOrEqual(STEPS);
  }, 300_000);

  async function stepsAgreed(timeline: fc.Arbitrary<Timeline>): Promise<number> {
    const start = time.now;
    let steps = 0;
    await fc.assert(
      fc.asyncProperty(timeline, async (drawn) => {
        time.now = start;
        steps += await replay(drawn, { time, lua, twin });
      }),
      { seed, numRuns: Math.ceil(STEPS / STEPS_AT_LEAST) },
    );
    return steps;
  }
});
