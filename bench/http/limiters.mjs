// What each limiter adds to an application, configured as its README describes, with default headers and keys. A
// package is loaded only by the application that uses it.
import { setImmediate as turn } from 'node:timers/promises';
import { HttpException } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';

const MINUTE = 60_000;

/** Limits that are never reached, except for contestants whose requests are denied. */
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

/** Only waits: requests that wait continue together, which is cheaper than one by one. */
async function turnGuard() {
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate: () => turn(true) } }] };
}

/** The bare GCRA, with one call for all requests of a turn of the event loop. It sets no headers. */
async function bareRedis(contestant, redis) {
  const [{ Redis }, { askByTurns }] = await Promise.all([import('ioredis'), import('../bare.mjs')]);
  const [{ limit, window }] = limitsOf(contestant);
  const ask = await askByTurns(new Redis(redis), { limit, windowMs: window });
  const canActivate = async (context) => (await ask(context.switchToHttp().getRequest().ip))[0] === 1;
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate } }] };
}

/** Denies every request, with one exception for all. */
async function bareRefused() {
  const denial = new HttpException('Too Many Requests', 429);
  const canActivate = () => {
    throw denial;
  };
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate } }] };
}

const rulesOf = (contestant) =>
  Object.fromEntries(
    limitsOf(contestant).map(({ name, limit, window }) => [
      name,
      { limit, window: `${window}ms`, algorithm: 'sliding-window-counter' },
    ]),
  );

/** Waits longer for Redis than by default, because the machine is kept busy, and logs a failure. */
const PATIENT = { timeout: 1000, onStoreError: 'deny' };

async function ours(contestant, redis) {
  const { RateLimitModule } = await import('../../dist/esm/index.js');
  return { imports: [RateLimitModule.forRoot({ redis, rules: rulesOf(contestant), ...PATIENT })] };
}

/** Reserves the rules that the guard of the package would apply, and settles what was reserved. It sets no headers. */
async function reserved(contestant, redis) {
  const { RateLimitModule, RateLimitService } = await import('../../dist/esm/index.js');
  const onDemand = rulesOf(contestant);
  const names = Object.keys(onDemand);
  const cost = Object.fromEntries(names.map((name) => [name, 1]));
  const guardOf = (limits) => ({
    async canActivate(context) {
      const budget = await limits.reserve(names, context.switchToHttp().getRequest().ip, { cost });
      void budget.settle(cost);
      return budget.allowed;
    },
  });
  return {
    imports: [RateLimitModule.forRoot({ redis, onDemand, ...PATIENT })],
    providers: [{ provide: APP_GUARD, useFactory: guardOf, inject: [RateLimitService] }],
  };
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

/** Runs before the router, as middleware, and not in Nest's pipeline. */
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
 * The limiters by name. Each function returns the parts of an application's module (`imports`, `providers`) or the
 * `middleware` of a contestant that counts at a Redis URL, or in memory without one.
 */
export const LIMITERS = {
  none,
  guard,
  turnGuard,
  bareRedis,
  bareRefused,
  ours,
  reserved,
  throttler,
  expressRateLimit,
};
