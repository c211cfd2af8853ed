// A Nest application on REDIS_URL that reports its port, the number of requests that it delays, and, after its
// shutdown (on SIGINT), the number of requests received and answered. Nothing stops the process: it has to exit when
// no handles are left.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimitModule } from '../../dist/esm/index.js';

const { REDIS_URL, FRAMEWORK } = process.env;

class Routes {
  busy() {}
  held() {}
  slow() {
    return new Promise((resolve) => waiting.push(resolve));
  }
}
const waiting = [];
const quota = { window: '1s', limit: 10 };
decorate('busy', { ...quota, algorithm: 'gcra', onStoreError: 'local' });
decorate('held', { ...quota, algorithm: 'leaky-bucket', queue: 100 });
decorate('slow', { algorithm: 'concurrency', limit: 100, lease: '1h' });
Controller()(Routes);

function decorate(method, rule) {
  const property = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of [Get(method), RateLimit(rule)]) decorator(Routes.prototype, method, property);
}

class App {}
// A deadline that only a failed Redis exceeds, not a busy machine.
const limits = RateLimitModule.forRoot({ redis: REDIS_URL, timeout: 1000 });
Module({ imports: [limits], controllers: [Routes] })(App);

const adapter = FRAMEWORK === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
const app = await NestFactory.create(App, adapter, { logger: false });
await app.listen(0, '127.0.0.1');
const server = app.getHttpServer();

let [received, held, answered] = [0, 0, 0];
server.prependListener('request', ({ url }, response) => {
  received += 1;
  if (url === '/held') console.log(JSON.stringify({ held: ++held }));
  response.once('finish', () => (answered += 1));
});

process.once('SIGINT', async () => {
  const closed = app.close();
  // Slow requests end after the shutdown has begun, and not before.
  server.once('close', () => console.log(JSON.stringify({ received, answered })));
  while (server.listening) await new Promise((resolve) => setImmediate(resolve));
  for (const answer of waiting) answer();
  await closed;
});
console.log(JSON.stringify({ port: server.address().port }));
