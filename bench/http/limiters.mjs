// What each limiter adds to an app, set up as its README says, with headers and keys as they are by default.
// A package is loaded only by the app that uses it.
import { setImmediate as turn } from 'node:timers/promises';
import { APP_GUARD } from '@nestjs/core';

const MINUTE = 60_000;

/** Limits that are never reached, but for the contestants that are refused. */
function limitsOf({ rules, isRefused }) {
  if (isRefused) return [{ name: 'default', limit: 1, window: 24 * 60 * MINUTE }];
  if (rules === 1) return [{ name: 'default', limit: 1e9, window: MINUTE }];
  return [
    { name: 'burst', limit: 7e8, window: MINUTE / 6 },
    { name: 'minute', limit: 8e8, window: MINUTE },
    { name: 'hour', limit: 9e8, window: 60 * MINUTE },
  ];
}

async function none() {
  return {};
}

async function guard() {
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate: async () => true } }] };
}

/** What waiting alone does: requests that wait go on together, which is cheaper than one by one. */
async function turnGuard() {
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate: () => turn(true) } }] };
}

/** Waits for Redis longer than by default, since the machine is kept busy, and says so if that fails. */
async function ours(contestant, redis) {
  const { RateLimitModule } = await import('../../dist/esm/index.js');
  const rules = Object.fromEntries(
    limitsOf(contestant).map(({ name, limit, window }) => [
      name,
      { limit, window: `${window}ms`, algorithm: 'sliding-window-counter' },
    ]),
  );
  return { imports: [RateLimitModule.forRoot({ redis, rules, timeout: 1000, onStoreError: 'deny' })] };
}

async function throttler(contestant, redis) {
  const { ThrottlerGuard, ThrottlerModule } = await import('@nestjs/throttler');
  const throttlers = limitsOf(contestant).map(({ name, limit, window }) => ({ name, limit, ttl: window }));
  const storage = redis && (await throttlerStorage(redis));
  return {
    imports: [ThrottlerModule.forRoot({ throttlers, ...(storage && { storage }) })],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  };
}

async function throttlerStorage(redis) {
  const { ThrottlerStorageRedisService } = await import('@nest-lab/throttler-storage-redis');
  return new ThrottlerStorageRedisService(redis);
}

/** Stands before the router, as middleware, and not in Nest's pipeline. */
async function expressRateLimit(contestant, redis) {
  const [{ Redis }, { rateLimit }, { RedisStore }] = await Promise.all([
    import('ioredis'),
    import('express-rate-limit'),
    import('rate-limit-redis'),
  ]);
  const client = new Redis(redis);
  const store = new RedisStore({ sendCommand: (...command) => client.call(...command) });
  const [{ limit, window }] = limitsOf(contestant);
  return { middleware: rateLimit({ limit, windowMs: window, store }) };
}

/**
 * By its name: what it adds to an app's module (`imports`, `providers`) or puts before it (`middleware`), for
 * a contestant that counts at a Redis URL, or in memory if there is none.
 */
export const LIMITERS = { none, guard, turnGuard, ours, throttler, expressRateLimit };
