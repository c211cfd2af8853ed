// The limiters that are compared, and their limits.

/** Number of connections of the load. */
export const CONNECTIONS = 64;

/** Clients per connection: about 10,000 in total, so that no limiter counts them in one hot key. */
const MANY = 156;

const memory = { rules: 1, clients: MANY, status: 200 };
const redis = { ...memory, redis: true };

/** Each connection is one client, which has used up its limit and continues to send requests. */
const refused = { ...redis, clients: 1, status: 429, isRefused: true };
const refusedInMemory = { ...refused, redis: false };

const guard = 'an async guard that does nothing';
const turnGuard = 'a guard that waits for a turn of the event loop';
const throttler = 'throttler + nest-lab Redis';
const expressRateLimit = 'express-rate-limit + rate-limit-redis';

/** `limiter` is a function of limiters.mjs. Each limiter counts in a separate Redis database. */
export const CONTESTANTS = [
  { name: 'nothing', title: 'nothing', limiter: 'none', ...memory },
  { name: 'async-guard', title: guard, limiter: 'guard', ...memory },
  { name: 'turn-guard', title: turnGuard, limiter: 'turnGuard', ...memory },
  { name: 'bare-redis', title: 'a bare batched guard, Redis', limiter: 'bareRedis', ...redis },
  {
    name: 'bare-refused',
    title: 'a guard that throws one prepared exception',
    limiter: 'bareRefused',
    ...refusedInMemory,
  },
  { name: 'ours-memory', title: 'this package, memory', limiter: 'ours', ...memory },
  { name: 'ours-redis-1', title: 'this package, Redis, 1 rule', limiter: 'ours', ...redis },
  { name: 'ours-redis-3', title: 'this package, Redis, 3 rules', limiter: 'ours', ...redis, rules: 3 },
  { name: 'throttler-memory', title: 'throttler, memory', limiter: 'throttler', ...memory },
  { name: 'throttler-redis-1', title: `${throttler}, 1 throttler`, limiter: 'throttler', ...redis },
  {
    name: 'reserved-redis-3',
    title: 'a reservation of this package, Redis, 3 rules',
    limiter: 'reserved',
    ...redis,
    rules: 3,
  },
  {
    name: 'throttler-redis-3',
    title: `${throttler}, 3 throttlers`,
    limiter: 'throttler',
    ...redis,
    rules: 3,
  },
  {
    name: 'express-rate-limit',
    title: expressRateLimit,
    limiter: 'expressRateLimit',
    ...redis,
    on: 'express',
  },
  {
    name: 'ours-refused-memory',
    title: 'denied: this package, memory',
    limiter: 'ours',
    ...refusedInMemory,
  },
  { name: 'ours-refused', title: 'denied: this package, Redis', limiter: 'ours', ...refused },
  { name: 'throttler-refused', title: `denied: ${throttler}`, limiter: 'throttler', ...refused },
];

/** The contestant that all others are compared with. */
export const BASE = 'nothing';

export function contestantsOn(platform, names) {
  return CONTESTANTS.filter(({ name, on = platform }) => names.includes(name) && on === platform);
}
