// Who is compared, on Redis. Each is a function from a bench's setting (`server`, `limit`) to a contestant:
// `ask(subject)`, `isAllowed(answer)`, `close()`.
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { RedisStore as RateLimitRedisStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { RateLimiter } from '../dist/esm/index.js';
import { RedisStore } from '../dist/esm/redis.js';
import { askByTurns, askOneByOne } from './bare.mjs';

/** So long that nothing expires meanwhile, and short enough for timers, which some keep in memory. */
export const WINDOW_MS = 24 * 86_400_000;

/** A busy machine is slow, and still measured. */
const PATIENCE_MS = 10_000;

/** So many rules, which differ in nothing but their names. */
export function rulesOf(count, limit) {
  const rule = { limit, window: `${WINDOW_MS}ms`, algorithm: 'gcra' };
  return Array.from({ length: count }, (_, number) => ({ ...rule, name: `rule-${number + 1}` }));
}

/** This library: one rule, or several that are decided together; `rule`: one of another kind. */
export function ours({ rules = 1, rule } = {}) {
  return async ({ server, limit }) => {
    const client = server.connect();
    const store = new RedisStore({ redis: client, timeout: PATIENCE_MS, connectTimeout: PATIENCE_MS });
    const limiter = new RateLimiter({ store, onStoreError: 'deny' });
    let failure;
    limiter.events.on('storeError', ({ error }) => (failure = error));
    const asked = rulesOf(rules, limit);
    const consumed = rules === 1 ? { ...(rule ?? asked[0]), limit } : asked;
    return {
      ask: (subject) => limiter.consume(consumed, subject),
      isAllowed({ allowed, source }) {
        if (source === 'fallback') throw new Error('Redis did not decide', { cause: failure });
        return allowed;
      },
      async close() {
        await limiter.close();
        await store.close();
        client.disconnect();
      },
    };
  };
}

/** rate-limiter-flexible: one limiter, or several asked at once. */
export function flexible({ rules = 1, blocksInMemory = false } = {}) {
  return async ({ server, limit }) => {
    const client = server.connect();
    const options = {
      storeClient: client,
      points: limit,
      duration: WINDOW_MS / 1000,
      ...(blocksInMemory && { inMemoryBlockOnConsumed: limit + 1 }),
    };
    const first = new RateLimiterRedis(options);
    const limiters = rulesOf(rules).map(({ name }) => new RateLimiterRedis({ ...options, keyPrefix: name }));
    return {
      ask:
        rules === 1
          ? (subject) => first.consume(subject)
          : (subject) => Promise.all(limiters.map((limiter) => limiter.consume(subject))),
      isAllowed: () => true, // It throws what is refused.
      close: () => client.disconnect(),
    };
  };
}

/** rate-limit-redis, the store of express-rate-limit. */
export async function rateLimitRedis({ server, limit }) {
  const client = server.connect();
  const store = new RateLimitRedisStore({ sendCommand: (...args) => client.call(...args) });
  await store.init({ windowMs: WINDOW_MS });
  return {
    ask: (subject) => store.increment(subject),
    isAllowed: ({ totalHits }) => totalHits <= limit,
    close: () => client.disconnect(),
  };
}

/** The Redis storage of `@nest-lab` for `@nestjs/throttler`. */
export async function nestLab({ server, limit }) {
  const client = server.connect();
  const storage = new ThrottlerStorageRedisService(client);
  return {
    ask: (subject) => storage.increment(subject, WINDOW_MS, limit, WINDOW_MS, 'default'),
    isAllowed: ({ isBlocked }) => !isBlocked,
    close: () => client.disconnect(),
  };
}

/** A GCRA and nothing else: one call for all decisions of a turn of the event loop. */
export const bareByTurns = bare(askByTurns);

/** A GCRA and nothing else: one call a decision. */
export const bareOneByOne = bare(askOneByOne);

function bare(askWith) {
  return async ({ server, limit }) => {
    const client = server.connect();
    return {
      ask: askWith(client, { limit, windowMs: WINDOW_MS }),
      isAllowed: (wait) => wait === 0,
      close: () => client.disconnect(),
    };
  };
}

/** The way to Redis and back, without any work there. */
export async function ping({ server }) {
  const client = server.connect();
  return { ask: () => client.ping(), isAllowed: () => true, close: () => client.disconnect() };
}
