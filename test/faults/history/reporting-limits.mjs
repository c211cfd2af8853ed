import { NestFactory } from '@nestjs/core';
import {
  RateLimitEvents,
  RateLimitHealth,
  RateLimitModule,
  RateLimitService,
} from '../../../dist/esm/index.js';
import { RedisStore } from '../../../dist/esm/redis.js';
import { now } from './history-file.mjs';

const LEVELS = ['log', 'warn', 'error', 'fatal', 'debug', 'verbose'];
const TIMEOUT_MS = 50;
const STORE = Symbol.for('nestjs-redis-rate-limit:store');

/** Starts a Nest application that writes its log, events, health and unhandled rejections to a history. */
export async function startLimits({ redis, instances, hasOwnClock }, history) {
  const report = (by, what) =>
    history.write({ kind: 'report', at: now(), process: process.pid, by, ...what });
  const write = (level) => (message, context) =>
    context === 'RateLimit' && report('log', { level, message: String(message) });
  const logger = Object.fromEntries(LEVELS.map((level) => [level, write(level)]));
  process.on('unhandledRejection', (error) => report('process', { message: `unhandled: ${String(error)}` }));

  class AppModule {}
  const options = { redis, prefix: 'history:', timeout: TIMEOUT_MS, onStoreError: 'local', instances };
  const { providers, ...limiting } = RateLimitModule.forRoot(options);
  let stepMs = 0;
  const own = { provide: STORE, useFactory: () => openStepped(redis, () => stepMs) };
  limiting.providers = hasOwnClock ? [...providers, own] : providers;
  // Who watches from the start on is told of a server that was never there.
  const watch = (events) => {
    events.on('breaker', ({ state, server }) => report('event', { event: 'breaker', state, server }));
    events.on('storeError', ({ error, call }) =>
      report('event', {
        event: 'storeError',
        call,
        server: error.server,
        message: String(error),
        isCut: error.kind === 'connection',
      }),
    );
    return events;
  };
  const watching = { provide: 'watching', inject: [RateLimitEvents], useFactory: watch };
  const app = await NestFactory.createApplicationContext(
    { module: AppModule, imports: [limiting], providers: [watching] },
    { logger },
  );
  const health = app.get(RateLimitHealth);

  let known = '';
  return {
    limits: app.get(RateLimitService),
    /** Records the health result if it has changed. */
    async lookAtHealth({ always = false } = {}) {
      const askedAt = now();
      const { rateLimit } = await health.isHealthy();
      const { status, degraded, reason } = rateLimit;
      const isNew = known !== `${status} ${degraded}`;
      if (isNew || always) report('health', { askedAt, status, degraded, reason });
      known = `${status} ${degraded}`;
    },
    /** Sets the error of its store's clock in milliseconds. */
    step: (milliseconds) => void (stepMs = milliseconds),
    close: () => app.close(),
  };
}

/** Opens a store for which the server's clock is wrong, while its own is correct. */
async function openStepped(redis, stepMs) {
  const clock = () => Date.now() + stepMs();
  const store = await RedisStore.open({ redis, timeout: TIMEOUT_MS, clock });
  return Object.assign(store, { clock: Date.now, stopwatch: () => performance.now() });
}
