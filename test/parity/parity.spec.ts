import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { algorithms, type AlgorithmName } from '../../lib/algorithms/registry.js';
import { MemoryStore } from '../../lib/index.js';
import type { RedisStore } from '../../lib/redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { STILL_REAL } from '../contract/still-real.js';
import { VirtualTime } from '../support/virtual-store.js';
import { timelines, STEPS_AT_LEAST, type Timeline } from './random-timeline.js';
import { replay } from './replay.js';
import { Tally, type Event } from './tally.js';

/** With `PARITY_STEPS`, fewer where another run plays all of them. */
const STEPS = Number(process.env['PARITY_STEPS'] ?? 10_000);
/** The minimum number of times that each kind of event has to occur. */
const OFTEN = 0.005 * STEPS;
const OFTEN_IN_A_MIX = 0.0015 * STEPS;
const seed = Number(process.env['PARITY_SEED'] ?? 20_240_229);
const names = Object.keys(algorithms) as AlgorithmName[];

describe(`Lua and the reference implementation on random timelines (PARITY_SEED=${seed})`, () => {
  const time = new VirtualTime();
  let lua: RedisStore;
  let reference: MemoryStore;

  beforeAll(async () => {
    // The memory store deletes expired keys in real time. If the clock steps back after that, Redis still has the
    // key.
    jest.useFakeTimers({ doNotFake: [...STILL_REAL] });
    lua = await openRedisStore({ clock: time.clock });
    reference = new MemoryStore({ clock: time.clock });
  });

  afterAll(async () => {
    await lua.close();
    await reference.close();
  });

  it.each(names)(
    '%s decides and refunds identically with and without Redis',
    async (name) => {
      const tally = await agreed(timelines([name], { minLength: 1, maxLength: 1 }));
      expect(eventsOf(algorithms[name]).filter((event) => tally.of(event) < OFTEN)).toEqual([]);
    },
    300_000,
  );

  it('a mix of one to six rules decides and refunds identically with and without Redis', async () => {
    const tally = await agreed(timelines(names, { minLength: 1, maxLength: 6 }));
    const events = names.flatMap((name) => eventsOf(algorithms[name]));
    expect(events.filter((event) => tally.of(event) < OFTEN_IN_A_MIX)).toEqual([]);
  }, 300_000);

  async function agreed(timeline: fc.Arbitrary<Timeline>): Promise<Tally> {
    const tally = new Tally();
    const property = fc.asyncProperty(timeline, (drawn) => replay(drawn, { time, lua, reference }, tally));
    await fc.assert(property, { seed, numRuns: Math.ceil(STEPS / STEPS_AT_LEAST) });
    return tally;
  }
});

/** The kinds of events that have to occur with an algorithm, so that its timelines are meaningful. */
function eventsOf({ queues, leases }: { queues?: boolean; leases?: boolean }): Event[] {
  const always: Event[] = ['let in', 'denied', 'denied for ever', 'blocked', 'given back'];
  if (leases) return [...always, 'renewed', 'given back, nobody behind'];
  const rated: Event[] = [...always, 'settled for less', 'settled for more'];
  return queues ? [...rated, 'held back', 'given back, nobody behind'] : rated;
}
