import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Res } from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limitBeforeRouting, RateLimit, RateLimitModule } from '../../lib/index.js';
import { rawOf } from '../../lib/http/response-end.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';

afterEach(closeApps);

/** Ends the response of a request before the rules of its route have decided. */
let answered: (() => void) | undefined;

const by = async (): Promise<string> => {
  answered?.();
  await Promise.resolve();
  return 'all';
};

const flush = (_request: unknown, response: ServerResponse, next: () => void): void => {
  response.flushHeaders();
  next();
};

@Controller()
class Routes {
  @Get('plain')
  plain(@Res() response: unknown): void {
    (rawOf(response) as ServerResponse).end('body');
  }

  @RateLimit({ window: '1m', limit: 100 })
  @Get('limited')
  limited(@Res() response: unknown): void {
    (rawOf(response) as ServerResponse).end('body');
  }

  @RateLimit({ name: 'held', algorithm: 'concurrency', limit: 1, lease: '1h', by })
  @Get('held')
  held(): void {}

  @RateLimit({ name: 'counted', window: '1h', limit: 1, count: 'successes', by })
  @Get('counted')
  counted(): void {}

  @RateLimit({ name: 'settled', window: '1h', limit: 1, settle: () => 0, onError: 'refund', by })
  @Get('settled')
  settled(): void {}
}

describe.each(FRAMEWORKS)('a response whose headers are sent before the limit decides, %s', (framework) => {
  it.each(['plain', 'limited'])('is sent by the handler, without headers of the limit: /%s', async (path) => {
    const { get } = await startApp(
      {
        imports: [RateLimitModule.forRoot({ onDemand: { flood: { window: '1m', limit: 100 } } })],
        controllers: [Routes],
      },
      {
        framework,
        configure: (app) => {
          app.use(flush);
          if (path === 'plain') limitBeforeRouting(app, 'flood');
        },
      },
    );
    expect(await get(`/${path}`)).toMatchObject({ status: 200, body: 'body' });
  });
});

it.each(FRAMEWORKS)(
  'a request with a body that is denied before routing, after its headers were sent, ends, and the next one is served, %s',
  async (framework) => {
    const { get, send } = await startApp(
      {
        imports: [RateLimitModule.forRoot({ onDemand: { flood: { window: '1h', limit: 1, by } } })],
        controllers: [Routes],
      },
      {
        framework,
        configure: (app) => {
          app.use(flush);
          limitBeforeRouting(app, 'flood', { exclude: ['/limited'] });
        },
      },
    );
    const upload = { method: 'POST', path: '/plain', body: 'x'.repeat(1000) };
    for (let sent = 0; sent < 3; sent += 1) await send(upload).catch(() => undefined);
    expect(await get('/limited')).toMatchObject({ status: 200, body: 'body' });
  },
);

describe.each(['memory', 'redis'])('a response that is sent while the limit decides, %s', (kind) => {
  it.each(['held', 'counted', 'settled'])('leaves no charge of the rule "%s"', async (path) => {
    const redis = kind === 'redis' ? { redis: redisUrl(), prefix: uniquePrefix() } : {};
    const { get } = await startApp(
      { imports: [RateLimitModule.forRoot(redis)], controllers: [Routes] },
      {
        framework: 'express',
        configure: (app) =>
          app.use(({ headers }: IncomingMessage, response: ServerResponse, next: () => void) => {
            answered = headers['x-late'] ? () => void response.writeHead(503).end() : undefined;
            next();
          }),
      },
    );
    expect((await get(`/${path}`, { 'x-late': '1' })).status).toBe(503);
    // The client has its response before its charge is returned.
    await until(async () => (await get(`/${path}`)).status === 200, 'the charge to be returned');
  });
});
