// Measures one rule on a Redis server without other clients.
import { RateLimiter } from '../dist/esm/limiter.js';
import { RedisStore } from '../dist/esm/redis.js';
import { hit } from './rules.mjs';
import { scriptTime } from './script-time.mjs';

const HITS_A_KEY = 20;
const DAY = 86_400_000;

/**
 * Decides one request per key, in sequence, because requests of one turn would share a script. Returns how many were
 * allowed.
 */
async function askAll(limiter, described, keys, options) {
  let admitted = 0;
  for (let key = 0; key < keys; key++) {
    const { allowed } = await hit(limiter, described, subjectOf(key), options);
    if (allowed) admitted += 1;
  }
  return admitted;
}

/** Returns an IPv4 address for each key. All have the same length. */
function subjectOf(key) {
  return `198.51.${100 + Math.floor(key / 100)}.${100 + (key % 100)}`;
}

/** Returns the bytes of the first key, including its name and its entry in the table of keys. */
async function bytesOf(redis) {
  const [key] = await redis.keys(`rl:{${subjectOf(0)}}:*`);
  return redis.memory('USAGE', key, 'SAMPLES', 0);
}

/** Returns the server time of a script in microseconds, averaged over some hits on each key. */
async function serverTime(redis, keys, isMeant, ask) {
  const { calls, micros } = await scriptTime(redis, async () => {
    for (let time = 0; time < HITS_A_KEY; time++) {
      if (!isMeant(await ask()))
        throw new Error('some hits were not decided as this measurement means them to be');
    }
  });
  // A slow run has a few more: those of the heartbeats.
  if (calls < keys * HITS_A_KEY) throw new Error(`${calls} scripts for ${keys * HITS_A_KEY} decisions`);
  return micros;
}

/**
 * Sends ten hits per key over the previous day, then `HITS_A_KEY` measured hits, then hits until the limit is
 * reached, then `HITS_A_KEY` measured denials.
 */
export async function costOf(described, { redis, url, keys }) {
  let now = 0;
  const stores = [
    new RedisStore({ redis: url, timeout: 60_000, clock: () => now }),
    new RedisStore({ redis: url, timeout: 60_000 }),
  ];
  const [before, limiter] = stores.map(
    (store) => new RateLimiter({ store, onStoreError: 'deny', denyCache: false }),
  );
  const ask = (options) => askAll(limiter, described, keys, options);

  await redis.flushall();
  await ask();
  const bytesOfOne = await bytesOf(redis);
  await redis.flushall();
  for (let age = 10; age > 0; age--) {
    now = Date.now() - (age / 10.5) * DAY;
    await askAll(before, described, keys);
  }
  const allowed = await serverTime(redis, keys, (admitted) => admitted === keys, ask);
  const { remaining } = await limiter.peek(described.rule, subjectOf(0));
  if (!described.entries) await ask({ cost: remaining });
  while ((await ask()) > 0);
  const bytesWhenFull = await bytesOf(redis);
  const denied = await serverTime(redis, keys, (admitted) => admitted === 0, ask);

  for (const each of [before, limiter]) await each.close();
  for (const store of stores) await store.close();
  return { allowed, denied, bytesOfOne, bytesWhenFull };
}
