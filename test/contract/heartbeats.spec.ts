import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisStore } from '../../lib/redis.js';
import { Dice } from '../flood/dice.js';
import { Heartbeats } from '../support/heartbeats.js';
import { openRedisStore } from '../support/redis-store.js';
import { RedisKeys } from '../support/redis-keys.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';

const SECONDS = 1e6;
const PROCESSES = 40;

describe('the processes that heartbeats count in Redis', () => {
  const time = new VirtualTime();
  let keys: RedisKeys;
  let store: RedisStore;
  let key: string;

  beforeAll(async () => {
    store = await openRedisStore({ clock: time.clock });
  });
  afterAll(() => store.close());
  beforeEach(() => {
    const prefix = uniquePrefix();
    key = `${prefix}{instances}`;
    keys = new RedisKeys(redisUrl(), prefix);
  });
  afterEach(async () => {
    await keys.redis.del(key);
    keys.close();
  });

  const beat = (instance: string, duration = 15 * SECONDS) => store.heartbeat({ key, instance, duration });

  it.each([1, 2, 3])(
    'Redis counts the same processes as the reference implementation, whenever they start and stop (seed %i)',
    async (seed) => {
      const dice = new Dice(seed);
      const reference = new Heartbeats();
      for (let nth = 0; nth < 300; nth++) {
        const instance = String(dice.below(PROCESSES));
        const duration = dice.below(5) === 0 ? 0 : (1 + dice.below(15)) * SECONDS;
        const alive = await beat(instance, duration);
        expect([nth, alive]).toEqual([nth, reference.beat({ instance, duration }, time.now * 1000)]);
        time.advance(dice.below(3) * 500);
      }
    },
  );

  it('a process is not counted from the instant at which its heartbeat expires', async () => {
    await beat('one');
    time.advance(14_999);
    expect(await beat('other')).toBe(2);
    time.advance(1);
    expect(await beat('other')).toBe(1);
  });

  it('2,500 expired heartbeats are not counted, and after a day a call removes at most 1,000 of them', async () => {
    await Promise.all(Array.from({ length: 2500 }, (_, nth) => beat(`dead-${nth}`)));
    expect(await beat('one', 60 * SECONDS)).toBe(2501);
    time.advance(15_000);
    expect([await beat('one'), await keys.redis.zcard(key)]).toEqual([1, 2501]);
    time.advance(24 * 3_600_000);
    const counts: number[][] = [];
    for (let nth = 0; nth < 4; nth++) counts.push([await beat('one'), await keys.redis.zcard(key)]);
    expect(counts).toEqual([
      [1, 1501],
      [1, 501],
      [1, 1],
      [1, 1],
    ]);
  });

  it('a process whose clock is three hours ahead removes no heartbeat of another', async () => {
    await beat('one');
    time.advance(3 * 3_600_000);
    await beat('ahead');
    time.advance(-3 * 3_600_000);
    expect(await keys.redis.zcard(key)).toBe(2);
    expect([await beat('one'), await keys.redis.zcard(key)]).toEqual([1, 2]);
    time.advance(26 * -3_600_000);
    expect([await beat('one'), await keys.redis.zcard(key)]).toEqual([1, 1]);
    time.advance(26 * 3_600_000);
  });

  it('a process that stops is no longer counted while thousands of expired heartbeats remain', async () => {
    await Promise.all(Array.from({ length: 2500 }, (_, nth) => beat(`dead-${nth}`)));
    time.advance(15_000);
    expect(await beat('one')).toBe(1);
    expect(await beat('other')).toBe(2);
    expect(await beat('other', 0)).toBe(1);
  });
});
