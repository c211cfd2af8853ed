// An application that names an algorithm in each place where one can be named, and prints what each of them decides. The
// bundlers of the spec replace the name of the package.
require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { RateLimit, RateLimitModule, RateLimitService } = require('nestjs-redis-rate-limit');
const { MemoryStore, RateLimiter } = require('nestjs-redis-rate-limit/limiter');

const [IN_OPTIONS, IN_DECORATOR, IN_OVERRIDE, IN_PROGRAM] = [
  'gcra',
  'token-bucket',
  'fixed-window',
  'leaky-bucket',
];

class Routes {
  get() {
    return '';
  }
}
const get = Object.getOwnPropertyDescriptor(Routes.prototype, 'get');
Get()(Routes.prototype, 'get', get);
RateLimit({ name: 'decorated', window: '1h', limit: 2, algorithm: IN_DECORATOR })(
  Routes.prototype,
  'get',
  get,
);
Controller()(Routes);

class App {}
const options = {
  rules: { everywhere: { window: '1h', limit: 3, algorithm: IN_OPTIONS } },
  onDemand: { overridden: { window: '1h', limit: 1 } },
  overrides: { overridden: { algorithm: IN_OVERRIDE } },
};
Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Routes] })(App);

async function main() {
  const app = await NestFactory.create(App, { logger: ['error'] });
  const limits = app.get(RateLimitService);
  const early = await limits.consume({ name: 'early', window: '1h', limit: 1, algorithm: IN_PROGRAM }, 'ann');
  await app.listen(0, '127.0.0.1');
  const statuses = [];
  for (let nth = 0; nth < 3; nth++) statuses.push((await fetch(await app.getUrl())).status);
  const programs = [];
  for (let nth = 0; nth < 2; nth++) programs.push((await limits.consume('overridden', 'ann')).allowed);
  const limiter = new RateLimiter({ store: new MemoryStore() });
  const held = await limiter.hold({ algorithm: 'concurrency', limit: 1 }, 'ann');
  const cells = await limiter.consume({ window: '1h', limit: 1, algorithm: 'sliding-window-cells' }, 'ann');
  await held.release();
  await limiter.close();
  await app.close();
  console.log(
    JSON.stringify({ early: early.allowed, statuses, programs, held: held.allowed, cells: cells.allowed }),
  );
}

void main();
