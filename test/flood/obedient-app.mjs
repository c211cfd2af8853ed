// A Nest application on REDIS_URL with a route of each algorithm that clients may spread over its window. It reports its port.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimitModule } from '../../dist/esm/index.js';

const { REDIS_URL, RULES } = process.env;

class Routes {}
for (const [method, rule] of Object.entries(JSON.parse(RULES))) {
  Routes.prototype[method] = () => 'done';
  const property = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of [Get(method), RateLimit(rule)]) decorator(Routes.prototype, method, property);
}
Controller()(Routes);

class App {}
// A deadline that only a failed Redis exceeds, not a busy machine.
const limits = RateLimitModule.forRoot({ redis: REDIS_URL, timeout: 1000 });
Module({ imports: [limits], controllers: [Routes] })(App);

const app = await NestFactory.create(App, { logger: false });
await app.listen(0, '127.0.0.1');
process.once('disconnect', () => process.exit());
process.send({ port: app.getHttpServer().address().port });
