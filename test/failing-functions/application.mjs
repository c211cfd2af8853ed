// An application whose own functions fail in every way, in a separate process. It reports errors that would have ended the process to its parent. The route `/<place>/<number>` has a function that fails in one place.
//
//   node application.mjs '{ "redis", "prefix" }'
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimitEvents, RateLimitModule, recordMetrics } from '../../dist/esm/index.js';
import { BEHAVIOURS } from './behaviours.mjs';
import { PLACES } from './places.mjs';

const { redis, prefix } = JSON.parse(process.argv[2]);
let escaped = [];
process.on('unhandledRejection', (error) => escaped.push(`unhandled rejection: ${String(error)}`));
process.on('uncaughtException', (error) => escaped.push(`uncaught exception: ${String(error)}`));

const behaviours = Object.values(BEHAVIOURS);
/** What the functions of the module do during one request. */
let current = { place: '', behave: () => undefined };
const inModule = (place) => () => (current.place.startsWith(place) ? current.behave() : undefined);

function routesOf(place, rulesOf) {
  class Routes {}
  for (const [index, behave] of behaviours.entries()) {
    const name = `case${index}`;
    const handle = () => 'handled';
    Object.defineProperty(Routes.prototype, name, { value: handle, writable: true, configurable: true });
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, name);
    for (const rule of rulesOf(behave)) RateLimit(rule)(Routes.prototype, name, descriptor);
    Get(String(index))(Routes.prototype, name, descriptor);
    Object.defineProperty(Routes.prototype, name, descriptor); // as compiled decorators do
  }
  Controller(place)(Routes);
  Object.defineProperty(Routes, 'name', { value: `Routes_${place.replace(/\W/g, '_')}` });
  return Routes;
}

const failing =
  (place) =>
  (...values) =>
    inModule(place)(...values);
const instrument = {
  add: failing('counter'),
  record: failing('histogram'),
  addCallback() {},
  removeCallback() {},
};
const meter = {
  createCounter: () => instrument,
  createHistogram: () => instrument,
  createObservableGauge: () => instrument,
};

class AppModule {}
Module({
  imports: [
    RateLimitModule.forRoot({
      ...(redis && { redis, timeout: 10_000 }),
      prefix,
      body: inModule('body'),
    }),
  ],
  controllers: Object.entries(PLACES).map(([place, rulesOf]) => routesOf(place, rulesOf)),
})(AppModule);

const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
const events = app.get(RateLimitEvents);
for (const name of ['decision', 'storeError', 'breaker']) events.on(name, inModule(name));
events.on('decision', inModule('denied'), { only: 'denied' });
recordMetrics(events, meter);

const commands = {
  /** Sets how the module's functions fail from now on. */
  begin([place, index]) {
    escaped = [];
    current = { place, behave: behaviours[index] };
    if (place === 'storeError') events.storeFailed(new Error('no answer'), 'decision');
    if (place === 'breaker') events.storeChanged({ server: '', error: new Error('no answer') });
    if (place === 'breaker') events.storeChanged({ server: '', error: undefined });
  },
  /** Returns the errors since then that no one has caught, when every promise is settled. */
  async escaped() {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return escaped;
  },
};

process.on('message', async ({ command, value }) => process.send({ answer: await commands[command](value) }));
process.send({ port: app.getHttpServer().address().port });
