// The limiters that are compared on Redis. Each is a function from the setting of a benchmark (`server`, `limit`) to
// a contestant: `ask(subject)`, `isAllowed(answer)`, `close()`.
import { RedisStore as RateLimitRedisStore } from 'rate-limit-redis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { RateLimiter } from '../dist/esm/limiter.js';
import { RedisStore } from '../dist/esm/redis.js';
import { askByTurns, askOneByOne } from './bare.mjs';

/**
 * Long enough that nothing expires during a benchmark, and short enough for timers, which some limiters use in
 * memory.
 */
export const WINDOW_MS = 24 * 86_400_000;

/** A busy machine is slow, but its figures are still measured. */
const PATIENCE_MS = 10_000;

/** Returns a number of rules that differ only in their names. */
export function rulesOf(count, limit) {
  const rule = { limit, window: `${WINDOW_MS}ms`, algorithm: 'gcra' };
  return Array.from({ length: count }, (_, number) => ({ ...rule, name: `rule-${number + 1}` }));
}

/**
 * This library with one rule, or several rules that are decided together. `rule` replaces the default rule; `named`:
 * states the cost by rule name; `reserves`: reserves the permits, to be settled by rule name, instead of consuming them.
 */
export function ours({ rules = 1, rule, named = false, reserves = false } = {}) {
  return async ({ server, limit }) => {
    const client = server.connect();
    const store = new RedisStore({ redis: client, timeout: PATIENCE_MS, connectTimeout: PATIENCE_MS });
    const limiter = new RateLimiter({ store, onStoreError: 'deny' });
    let failure;
    limiter.events.on('storeError', ({ error }) => (failure = error));
    const asked = rulesOf(rules, limit);
    const consumed = rules === 1 ? { ...(rule ?? asked[0]), limit } : asked;
    const cost = Object.fromEntries(asked.map(({ name }) => [name, 1]));
    return {
      ask: reserves
        ? async (subject) => {
            const reservation = await limiter.reserve(asked, subject, { cost });
            void reservation.settle(cost); // Without a call, since it cost what was reserved; a dropped one would be reported.
            return reservation.decision;
          }
        : (subject) => limiter.consume(consumed, subject, named ? { cost } : undefined),
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

/** rate-limiter-flexible: one limiter, or several that are called at the same time. */
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
      isAllowed: () => true, // It throws the result of a denied request.
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
  // Imports Nest, which takes longer to load than all other contestants.
  const { ThrottlerStorageRedisService } = await import('@nest-lab/throttler-storage-redis');
  const client = server.connect();
  const storage = new ThrottlerStorageRedisService(client);
  return {
    ask: (subject) => storage.increment(subject, WINDOW_MS, limit, WINDOW_MS, 'default'),
    isAllowed: ({ isBlocked }) => !isBlocked,
    close: () => client.disconnect(),
  };
}

/** A bare program: one call for all decisions of a turn of the event loop. */
export const bareByTurns = bare(askByTurns);

/** A bare program: one call per decision. */
export const bareOneByOne = bare(askOneByOne);

/** The same as scripts, for a Cluster: its clients load functions on one node only. */
export const bareScriptOneByOne = bare(askOneByOne, { functions: false });

/** The bare sliding window log: one call per decision. */
export const bareLogOneByOne = bare(askOneByOne, { algorithm: 'sliding-window-log' });

function bare(askWith, options) {
  return async ({ server, limit }) => {
    const client = server.connect();
    return {
      ask: await askWith(client, { limit, windowMs: WINDOW_MS, ...options }),
      isAllowed: ([allowed]) => allowed === 1,
      close: () => client.disconnect(),
    };
  };
}

/** A round trip to Redis without any work there. */
export async function ping({ server }) {
  const client = server.connect();
  return { ask: () => client.ping(), isAllowed: () => true, close: () => client.disconnect() };
}
