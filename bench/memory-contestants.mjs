// The limiters that are compared in memory: functions like those of contestants.mjs, without a server. Each has a process
// of its own, which ends with it.
import { MemoryStore as ExpressStore } from 'express-rate-limit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { MemoryStore, RateLimiter } from '../dist/esm/limiter.js';
import { rulesOf, WINDOW_MS } from './contestants.mjs';

/** This library with its memory store. */
export const ours = withRule({});

/** The same with the default algorithm, whose limit is reached: a window of 100 ms. */
export const oursWithLog = withRule({ algorithm: 'sliding-window-log', window: '100ms' });

function withRule(own) {
  return async ({ limit }) => {
    const store = new MemoryStore();
    const limiter = new RateLimiter({ store });
    const rule = { ...rulesOf(1, limit)[0], ...own };
    return {
      ask: (subject) => limiter.consume(rule, subject),
      isAllowed: ({ allowed }) => allowed,
    };
  };
}

/** A bare GCRA in a map. */
export async function bareMap({ limit }) {
  const arrivals = new Map();
  const step = WINDOW_MS / limit;
  return {
    ask(subject) {
      const now = Date.now();
      const arrival = Math.max(now, arrivals.get(subject) ?? now) + step;
      const wait = arrival - now - WINDOW_MS;
      if (wait <= 0) arrivals.set(subject, arrival);
      return wait;
    },
    isAllowed: (wait) => wait <= 0,
  };
}

/** rate-limiter-flexible in memory. */
export async function flexible({ limit }) {
  const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
  return {
    ask: (subject) => limiter.consume(subject),
    isAllowed: () => true, // It throws the result of a denied request.
  };
}

/** The default storage of `@nestjs/throttler`, which keeps every hit of the window. */
export async function throttler({ limit }) {
  const { ThrottlerStorageService } = await import('@nestjs/throttler'); // It imports Nest.
  const storage = new ThrottlerStorageService();
  return {
    ask: (subject) => storage.increment(subject, WINDOW_MS, limit, WINDOW_MS, 'default'),
    isAllowed: ({ isBlocked }) => !isBlocked,
  };
}

/** The default store of express-rate-limit. */
export async function expressRateLimit({ limit }) {
  const store = new ExpressStore();
  store.init({ windowMs: WINDOW_MS });
  return {
    ask: (subject) => store.increment(subject),
    isAllowed: ({ totalHits }) => totalHits <= limit,
  };
}
