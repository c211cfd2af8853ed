// Creates and closes Nest applications, and prints the kB of memory that each of those after the first ones keeps. KIND
// is `plain` (without limits), `memory`, `redis`, `down` (without a connection to Redis), `page` (the operations page on
// Redis), or `limiter` (limiters without Nest on one store).
//
//   KIND=page FRAMEWORK=fastify REDIS_URL=redis://127.0.0.1:6379 node --expose-gc closed-apps.mjs FIRST ALL
import 'reflect-metadata';
import { Controller, Get, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { request } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { RateLimitDashboardModule } from '../../dist/esm/dashboard.js';
import { RateLimit, RateLimitModule } from '../../dist/esm/index.js';
import { RateLimiter } from '../../dist/esm/limiter.js';
import { RedisStore } from '../../dist/esm/redis.js';

const { KIND, FRAMEWORK, REDIS_URL } = process.env;
const [FIRST, ALL] = process.argv.slice(2).map(Number);
const rule = { window: '1h', limit: 10_000, algorithm: 'fixed-window' };

class Routes {
  hello() {
    return 'hello';
  }
}
const hello = Object.getOwnPropertyDescriptor(Routes.prototype, 'hello');
for (const decorate of [Get('hello'), RateLimit(rule)]) decorate(Routes.prototype, 'hello', hello);
Controller()(Routes);
class App {}
Module({ controllers: [Routes] })(App);
Logger.overrideLogger(false);

const STORES = { memory: undefined, redis: REDIS_URL, page: REDIS_URL, down: 'redis://127.0.0.1:1' };

function importsOf(kind) {
  if (kind === 'plain') return [];
  const limits = RateLimitModule.forRoot({ redis: STORES[kind], rules: { other: rule } });
  return kind === 'page' ? [limits, RateLimitDashboardModule.forRoot()] : [limits];
}

async function get(port, path) {
  const [response] = await once(request({ port, path, agent: false }).end(), 'response');
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  return response;
}

async function readAll(port, path) {
  const response = await get(port, path);
  await once(response.resume(), 'end');
}

async function createAndClose() {
  const adapter = FRAMEWORK === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
  const root = { module: App, imports: importsOf(KIND) };
  const app = await NestFactory.create(root, adapter, { abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address();
  await readAll(port, '/hello');
  if (KIND === 'page') {
    for (const path of ['page', 'snapshot']) await readAll(port, `/rate-limits/${path}`);
    const events = await get(port, '/rate-limits/events');
    await once(events, 'data'); // The page is still open when the application closes.
  }
  await app.close();
}

const store = KIND === 'limiter' ? new RedisStore({ redis: REDIS_URL }) : undefined;

async function limitAndClose() {
  const limiter = new RateLimiter({ store });
  await limiter.consume(rule, 'ann');
  await limiter.close();
}

async function bytes() {
  for (let times = 0; times < 5; times++) {
    globalThis.gc();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const live = KIND === 'limiter' ? limitAndClose : createAndClose;
for (let nth = 0; nth < FIRST; nth++) await live();
const before = await bytes();
for (let nth = FIRST; nth < ALL; nth++) await live();
console.log(((await bytes()) - before) / 1000 / (ALL - FIRST));
await store?.close();
