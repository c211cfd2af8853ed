// A Nest application whose subjects are parts of what clients send. It reports its port, then on request the bytes of
// heap after a garbage collection (`heap`), and the number of requests without a response (`open`). It ends with its
// parent.
//
//   FRAMEWORK=fastify REDIS_URL=redis://127.0.0.1:6379 node --expose-gc kept-strings-app.mjs
import 'reflect-metadata';
import { Controller, Get, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { setImmediate as turn } from 'node:timers/promises';
import { RateLimitDashboardModule } from '../../dist/esm/dashboard.js';
import { RateLimit, RateLimitEvents, RateLimitModule } from '../../dist/esm/index.js';

const { REDIS_URL, FRAMEWORK } = process.env;
const isFastify = FRAMEWORK === 'fastify';
const requestOf = (context) => context.switchToHttp().getRequest();
const hour = { window: '1h', algorithm: 'gcra' };

class Routes {
  parameter() {}
  query() {}
  address() {}
  header() {}
  email() {}
  hot() {}
  mixed() {}
  list() {}
  blocked() {}
  shared() {}
  queue() {
    return new Promise(() => undefined); // Holds its permit until the client hangs up.
  }
}
decorate('parameter', Get('q/:tenant'), {
  ...hour,
  limit: 1,
  by: (context) => requestOf(context).params.tenant,
});
decorate('query', Get('query'), { ...hour, limit: 1, by: (context) => requestOf(context).query.tenant });
const tenant = (context) => requestOf(context).query.tenant;
decorate('list', Get('list'), { ...hour, limit: 1, by: ['ip', tenant] });
decorate('blocked', Get('blocked'), { ...hour, limit: 1, by: tenant, block: '1h' });
const shared = { algorithm: 'gcra', limit: 600_000, share: {} };
decorate('shared', Get('shared'), { ...hour, ...shared, by: tenant });
decorate('address', Get('address'), { ...hour, limit: 1, by: 'ip' });
decorate('header', Get('header'), { ...hour, limit: 1, by: (context) => lastHeader(requestOf(context)) });
decorate('email', Post('email'), { ...hour, limit: 1, by: (context) => requestOf(context).body.email });
const prefetch = { permits: 2, ttl: '1m' };
decorate('hot', Post('hot'), {
  ...hour,
  limit: 100,
  prefetch,
  by: (context) => requestOf(context).body.email,
});
decorate('mixed', Post('mixed'), {
  ...hour,
  limit: 1,
  by: ['ip', (context) => requestOf(context).body.email],
});
const held = { algorithm: 'concurrency', limit: 1, lease: '1m', maxWait: '1m', queue: 10_000 };
decorate('queue', Get('queue'), { ...held, by: (context) => requestOf(context).query.tenant });
Controller()(Routes);

/** A part of the last of many headers. */
function lastHeader({ headers }) {
  return headers['x-last'].slice(0, 40);
}

function decorate(method, verb, rule) {
  const property = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of [verb, RateLimit(rule)]) decorator(Routes.prototype, method, property);
}

class App {}
const limits = RateLimitModule.forRoot({ redis: REDIS_URL, timeout: 2000 });
Module({ imports: [limits, RateLimitDashboardModule.forRoot({ path: 'limits' })], controllers: [Routes] })(
  App,
);

const adapter = isFastify ? new FastifyAdapter({ trustProxy: 'loopback' }) : new ExpressAdapter();
const app = await NestFactory.create(App, adapter, { logger: false, abortOnError: false });
if (!isFastify) app.set('trust proxy', 'loopback');
app.get(RateLimitEvents).on('decision', ({ subjects }) => void subjects, { only: 'denied' });
await app.listen(0, '127.0.0.1');
const server = app.getHttpServer();
let open = 0;
server.prependListener('request', (_request, response) => {
  open += 1;
  response.once('close', () => (open -= 1));
});

process.on('message', async (figure) => {
  for (let times = 0; figure === 'heap' && times < 3; times++) {
    globalThis.gc();
    await turn();
  }
  process.send(figure === 'heap' ? process.memoryUsage().heapUsed : open);
});
process.once('disconnect', () => process.exit());
process.send({ port: server.address().port });
