// Measures which part of its limit a client gets that obeys the headers of its responses, in virtual time and in memory.
// Applications of Nest on Fastify answer; express-rate-limit answers as middleware of Express.
//
//   node bench/obedient.mjs [--quick] [--json]
import 'reflect-metadata';
import { mock } from 'node:test';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { inject } from 'light-my-request';
import { RateLimitModule } from '../dist/esm/index.js';
import { algorithms } from '../dist/repository/registry.js';
import { percent } from './columns.mjs';
import { asked, machine, report } from './report.mjs';

const LIMIT = 100;
const WINDOW = 60;
const WINDOWS = asked.quick ? 3 : 20;
const CLIENTS = 3;
const CLIENT = 'x-client';
const START = Date.UTC(2030, 0, 1);

/** Seconds until the next request: of a client that spreads what remains, and of one that sends it at once. */
const PACES = {
  spreads: (r, t) => (r > 0 ? t / r : t),
  atOnce: (r, t) => (r > 0 ? 0 : t),
};

/** Reads what remains, and the seconds until there is more, from the headers of a response. */
const READERS = {
  draft: ({ ratelimit }) => /; ?r=(\d+); ?t=(\d+)/.exec(ratelimit).slice(1),
  draft7: ({ ratelimit }) => /remaining=(\d+), reset=(\d+)/.exec(ratelimit).slice(1),
  draft6: (headers) => [headers['ratelimit-remaining'], headers['ratelimit-reset']],
  throttler: (headers) => [
    headers['x-ratelimit-remaining'] ?? 0,
    headers['retry-after'] ?? headers['x-ratelimit-reset'],
  ],
};

class PageController {
  page() {}
}
Get()(PageController.prototype, 'page', Object.getOwnPropertyDescriptor(PageController.prototype, 'page'));
Controller()(PageController);

/** Returns a function that sends a request to an application of Nest, and one that closes it. */
async function nestApp({ imports, providers = [] }, prepare = () => undefined) {
  class AppModule {}
  Module({ imports, providers, controllers: [PageController] })(AppModule);
  const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
  prepare(app);
  await app.init();
  const fastify = app.getHttpAdapter().getInstance();
  await fastify.ready();
  return { send: (headers) => fastify.inject({ path: '/', headers }), close: () => app.close() };
}

const ours = (algorithm) => () => {
  const rule = { limit: LIMIT, window: `${WINDOW}s`, by: CLIENT, algorithm };
  return nestApp({ imports: [RateLimitModule.forRoot({ rules: { default: rule }, warnings: false })] });
};

const throttler = () => {
  const options = {
    throttlers: [{ limit: LIMIT, ttl: WINDOW * 1000 }],
    getTracker: ({ headers }) => headers[CLIENT],
  };
  return nestApp({
    imports: [ThrottlerModule.forRoot(options)],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  });
};

const expressRateLimit = (standardHeaders) => () => {
  const app = express();
  const keyGenerator = ({ headers }) => headers[CLIENT];
  app.use(
    rateLimit({
      limit: LIMIT,
      windowMs: WINDOW * 1000,
      standardHeaders,
      legacyHeaders: false,
      keyGenerator,
      validate: false,
    }),
  );
  app.get('/', (_request, response) => response.end());
  return { send: (headers) => inject(app, { path: '/', headers }), close: () => undefined };
};

const CONTESTANTS = [
  ...Object.values(algorithms)
    .filter(({ name, leases }) => !leases && name !== 'leaky-bucket') // A leaky bucket delays requests instead.
    .map(({ name }) => ({ name: `this package, ${name}`, open: ours(name), read: READERS.draft })),
  { name: 'express-rate-limit, draft-8', open: expressRateLimit('draft-8'), read: READERS.draft },
  { name: 'express-rate-limit, draft-7', open: expressRateLimit('draft-7'), read: READERS.draft7 },
  { name: 'express-rate-limit, draft-6', open: expressRateLimit('draft-6'), read: READERS.draft6 },
  { name: '@nestjs/throttler', open: throttler, read: READERS.throttler },
];

/** Plays independent clients one after the other. Returns the part of the limit that they got, and the part of denials. */
async function play({ open, read }, pace) {
  mock.timers.enable({ apis: ['Date', 'setInterval', 'setTimeout'], now: START });
  const app = await open();
  let [allowed, denied, elapsed] = [0, 0, 0];
  const advance = (milliseconds) => mock.timers.tick(Math.ceil(milliseconds));
  for (let nth = 0; nth < CLIENTS; nth += 1) {
    advance(nth * 137);
    const from = Date.now();
    while (Date.now() < from + WINDOWS * WINDOW * 1000) {
      const { statusCode, headers } = await app.send({ [CLIENT]: `client ${nth}` });
      if (statusCode < 400) allowed += 1;
      else denied += 1;
      const seconds = pace(...read(headers).map(Number));
      advance(statusCode < 400 ? seconds * 1000 : Math.max(seconds, 1) * 1000);
    }
    elapsed += Date.now() - from;
  }
  mock.timers.reset();
  await app.close();
  return { part: allowed / ((elapsed * LIMIT) / (WINDOW * 1000)), denied: denied / (allowed + denied) };
}

const rows = [];
for (const contestant of CONTESTANTS) {
  const [spreads, atOnce] = [await play(contestant, PACES.spreads), await play(contestant, PACES.atOnce)];
  rows.push({
    limiter: contestant.name,
    spreads: spreads.part,
    spreadsDenied: spreads.denied,
    atOnce: atOnce.part,
    atOnceDenied: atOnce.denied,
  });
}
report(machine({ limit: LIMIT, window: `${WINDOW} s`, windows: WINDOWS }), rows, {
  limiter: ({ limiter }) => limiter,
  'spreads `r` over `t`': ({ spreads }) => percent(spreads),
  '429s': ({ spreadsDenied }) => percent(spreadsDenied, 1),
  'sends `r`, then waits `t`': ({ atOnce }) => percent(atOnce),
  'of which 429s': ({ atOnceDenied }) => percent(atOnceDenied, 1),
});
