import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitEvents, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { untilPrefetching } from '../support/until-prefetching.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';

const EXPORT = {
  name: 'export',
  algorithm: 'fixed-window',
  window: '1m',
  limit: 10,
  by: 'everyone',
  scope: 'shared',
  prefetch: { permits: 4, ttl: '30s' },
} as const;

@Controller()
class Routes {
  @RateLimit(EXPORT)
  @Get()
  get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('two processes with prefetch on a route, on %s', (framework) => {
  it('two processes with prefetch never exceed the limit together, and refund unused permits', async () => {
    const prefix = uniquePrefix();
    const time = new VirtualTime();
    const sources: string[] = [];
    const start = async () => {
      const metadata = { imports: [RateLimitModule.forRoot({ prefix })], controllers: [Routes] };
      const started = await startApp(metadata, { framework, store: virtualStore('redis', time) });
      await untilPrefetching(started.app.get(RateLimitService));
      started.app.get(RateLimitEvents).on('decision', ({ decision }) => sources.push(decision.source));
      return started;
    };
    const [one, other] = [await start(), await start()];
    const { by, scope, ...rule } = EXPORT;
    const left = async () => (await other.app.get(RateLimitService).peek(rule, by, { cost: 0 })).remaining;

    const first = await one.get('/');
    expect([first.status, first.headers['ratelimit']]).toEqual([200, '"export";r=9;t=54']);
    expect((await one.get('/')).status).toBe(200);
    expect(sources).toEqual(['redis', 'cache']);
    expect([scope, await left()]).toEqual(['shared', 6]);

    const statuses: number[] = [];
    for (let hit = 0; hit < 8; hit++) statuses.push((await other.get('/')).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
    await one.app.close();
    expect(await left()).toBe(2);
  });
});

it('a brace in keyPrefix, which hides the channel of resets from the Lua, ends prefetch with a warning', async () => {
  const { hostname: host, port } = new URL(redisUrl());
  const redis = { host, port: Number(port), keyPrefix: '{app}:' };
  const options = { prefix: uniquePrefix(), redis, timeout: 10_000 };
  const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [Routes] };
  const { app, get, logs } = await startApp(metadata, { framework: 'express' });
  const sources: string[] = [];
  app.get(RateLimitEvents).on('decision', ({ decision }) => sources.push(decision.source));
  for (let hit = 0; hit < 3; hit += 1) await get('/');
  expect(sources).toEqual(['redis', 'redis', 'redis']);
  expect(logs.ours().map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/keyPrefix "{app}:" of ioredis contains a brace.*`prefix`.*RL_CHANGES_UNREPORTED/),
  );
});

it('prefetch without an algorithm stops the application, because a log does not support it', async () => {
  const rules = { default: { window: '1m', limit: 10, prefetch: { permits: 4 } } as never };
  expect(await refusalToStart({ imports: [RateLimitModule.forRoot({ rules })] })).toContain(
    'rules.default.prefetch: no such option of sliding-window-log, the default algorithm; fixed-window, ',
  );
});
