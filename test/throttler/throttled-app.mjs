// Prints the responses of an application with @nestjs/throttler and our storage.
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

const app = await NestFactory.create(App, { logger: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
const responses = [];
for (let request = 0; request < 4; request += 1) {
  const { status, headers } = await fetch(await app.getUrl());
  const of = (name) => headers.get(name);
  responses.push([status, of('x-ratelimit-limit'), of('x-ratelimit-remaining'), of('retry-after')]);
}
console.log(JSON.stringify(responses));
await app.close();
