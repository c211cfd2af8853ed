// What worker.mjs can do. Each task takes what it is to do, and the limiter to do it with, and tells what
// came of it.
import { Redis } from 'ioredis';

/** Asks for permits: how many hits were admitted. */
export async function consume({ rules, hits, inFlight }, { limiter }) {
  let admitted = 0;
  await inTurns(hits, inFlight, async () => {
    const { allowed, source } = await limiter.consume(rules, 'everyone');
    if (source === 'fallback') throw new Error('Redis did not answer');
    if (allowed) admitted++;
  });
  return admitted;
}

/** Enters and leaves again: the most that were inside at once, of all processes, as Redis counted them. */
export async function hold({ rules: [rule], hits, inFlight }, { url, prefix, limiter }) {
  const redis = new Redis(url);
  const inside = `${prefix}inside`;
  let most = 0;
  await inTurns(hits, inFlight, async () => {
    let permit;
    do permit = await limiter.hold(rule, 'everyone');
    while (!permit.allowed);
    most = Math.max(most, await redis.incr(inside));
    await redis.decr(inside);
    await permit.release();
  });
  redis.disconnect();
  return most;
}

/** Waits for places: of each when it was given, for when, the wait that was told, and when that was over. */
export async function acquire({ rules: [rule], hits, inFlight }, { url, store, open }) {
  const redis = new Redis(url);
  const places = [];
  await inTurns(hits, inFlight, async () => {
    let outcome;
    const decide = async (...asked) => (outcome = await store.decide(...asked));
    const limiter = open(Object.assign(Object.create(store), { decide }));
    const { allowed, delayMs } = await limiter.acquire(rule, 'everyone');
    if (!allowed) throw new Error('Was given no place');
    const [seconds, microseconds] = await redis.time();
    places.push({
      givenAt: outcome[0].now,
      placeAt: outcome[0].now + outcome[0].delay,
      delayMs,
      wentAt: Number(seconds) * 1e6 + Number(microseconds),
    });
  });
  redis.disconnect();
  return places;
}

/** Enters and tells whether it was let in, holds its permits until it is told to leave, and gives them back. */
export async function enter({ rules: [rule], cost }, { limiter, tell, next }) {
  const permit = await limiter.hold(rule, 'everyone', { cost });
  tell(permit.allowed);
  await next();
  await permit.release();
  return 'left';
}

/** Does something so many times, and so many at once. */
async function inTurns(times, atOnce, act) {
  let begun = 0;
  const oneByOne = async () => {
    while (begun++ < times) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, oneByOne));
}
