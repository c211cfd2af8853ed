// Starts applications with @Throttle of @nestjs/throttler, whose CommonJS Jest cannot load beside Nest 12, and prints how each
// starts: the problems of its configuration, or the status of a request.
import 'reflect-metadata';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { SkipThrottle, Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../dist/esm/index.js';

const throttle = Throttle({ default: { limit: 3, ttl: 60_000 } });

/** Makes a controller with one handler, decorated as compiled code does: the last decorator first. */
function controller(name, decorators, ofClass = []) {
  const type = { [name]: class {} }[name];
  let descriptor = { value() {}, writable: true, enumerable: false, configurable: true };
  for (const decorate of [Get(), ...decorators.toReversed()]) {
    descriptor = decorate(type.prototype, 'get', descriptor) ?? descriptor;
  }
  Object.defineProperty(type.prototype, 'get', descriptor);
  for (const decorate of [Controller(), ...ofClass]) decorate(type);
  return type;
}

class OwnGuard extends ThrottlerGuard {}

const Login = () => controller('Login', [throttle]);
const CASES = {
  'a throttled handler': [[Login()]],
  'a class that skips': [[controller('Health', [], [SkipThrottle()])]],
  'a handler with both': [[controller('Both', [RateLimit({ window: '1m', limit: 1 }), throttle])]],
  'a guard for all routes': [[Login()], [{ provide: APP_GUARD, useClass: ThrottlerGuard }]],
  'a guard that extends it': [[Login()], [{ provide: APP_GUARD, useClass: OwnGuard }]],
  'a guard of a controller': [[controller('Login', [throttle], [UseGuards(ThrottlerGuard)])]],
  'a handler without a limit here': [[controller('Free', [SkipRateLimit(), throttle])]],
};

const told = {};
for (const [what, [controllers, providers = []]] of Object.entries(CASES)) {
  class AppModule {}
  const limits = RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 50 } } });
  const throttler = ThrottlerModule.forRoot([{ ttl: 60_000, limit: 100 }]);
  Module({ imports: [limits, throttler], controllers, providers })(AppModule);
  try {
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
    await app.listen(0, '127.0.0.1');
    told[what] = (await fetch(await app.getUrl())).status;
    await app.close();
  } catch (error) {
    told[what] = error.problems ?? String(error);
  }
}
console.log(JSON.stringify(told));
