// The tasks of worker.mjs. Each takes its options and the limiter, and returns its result.
import { Redis } from 'ioredis';

/** Requests permits. Returns how many hits were allowed. */
export async function consume({ rules, hits, inFlight }, { limiter }) {
  let admitted = 0;
  await inTurns(hits, inFlight, async () => {
    const { allowed, source } = await limiter.consume(rules, 'everyone');
    if (source === 'fallback') throw new Error('Redis did not answer');
    if (allowed) admitted++;
  });
  return admitted;
}

/** Takes and releases permits. Returns the most permits that all processes held at once, as counted by Redis. */
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

/**
 * Waits for permits. Returns for each when it was reserved, when it becomes available, the reported wait, and when
 * the wait ended.
 */
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

/** Takes permits, reports whether they were allowed, and holds them until the message to release them. */
export async function enter({ rules: [rule], cost }, { limiter, tell, next }) {
  const permit = await limiter.hold(rule, 'everyone', { cost });
  tell(permit.allowed);
  await next();
  await permit.release();
  return 'left';
}

/** Calls a function a number of times, with limited concurrency. */
async function inTurns(times, atOnce, act) {
  let begun = 0;
  const oneByOne = async () => {
    while (begun++ < times) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, oneByOne));
}
