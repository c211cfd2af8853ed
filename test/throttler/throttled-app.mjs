// Prints the responses of applications with @nestjs/throttler and one storage of ours: two of each of two that run at the
// same time, and one of a third that starts when both have closed.
//
//   node throttled-app.mjs <key prefix> [redis://...]
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimitThrottlerStorage } from '../../dist/esm/throttler.js';

const [prefix, redis] = process.argv.slice(2);

class Routes {
  get() {
    return 'hello';
  }
}
const get = Object.getOwnPropertyDescriptor(Routes.prototype, 'get');
Get()(Routes.prototype, 'get', get);
Throttle({ default: { limit: 2, ttl: 60_000, blockDuration: 120_000 } })(Routes.prototype, 'get', get);
Controller()(Routes);

class App {}
Module({
  imports: [
    ThrottlerModule.forRoot({
      throttlers: [{ ttl: 60_000, limit: 100 }],
      storage: new RateLimitThrottlerStorage({ redis, prefix }),
    }),
  ],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})(App);

async function start() {
  const app = await NestFactory.create(App, { logger: false });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  return app;
}

const responses = [];
async function request(app) {
  const { status, headers } = await fetch(await app.getUrl());
  const of = (name) => headers.get(name);
  responses.push([status, of('x-ratelimit-limit'), of('x-ratelimit-remaining'), of('retry-after')]);
}

for (const app of [await start(), await start()]) {
  await request(app);
  await request(app);
  await app.close();
}
const last = await start();
await request(last);
await last.close();
console.log(JSON.stringify(responses));
