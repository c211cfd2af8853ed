import { Controller, Get, Inject, Injectable } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitEvents, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, FRAMEWORKS, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

const RULES: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 2, algorithm: 'fixed-window' } },
  timeout: 10_000,
};

/** A listener as an application would write it. */
@Injectable()
class Watch {
  readonly seen: string[] = [];

  constructor(@Inject(RateLimitEvents) events: RateLimitEvents) {
    events.on('decision', ({ decision }) => this.seen.push(`decided by ${decision.source}`));
    events.on(
      'decision',
      ({ decision, subjects }) => this.seen.push(`${decision.rule} denied ${subjects.join()}`),
      { only: 'denied' },
    );
    events.on('storeError', ({ error }) => this.seen.push(`store: ${(error as Error).constructor.name}`));
    events.on('breaker', ({ state }) => this.seen.push(`breaker ${state}`));
  }
}

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('the events of an app on %s', (framework) => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  const start = async (options: RateLimitModuleOptions) => {
    const imports = [RateLimitModule.forRoot({ ...RULES, ...options })];
    const { app, get } = await startApp(
      { imports, controllers: [Routes], providers: [Watch] },
      { framework },
    );
    return { get, seen: app.get(Watch).seen };
  };

  it('events report all decisions, and denials with their subjects', async () => {
    const { get, seen } = await start({});
    for (let nth = 1; nth <= 3; nth++) await get('/');
    expect(seen).toEqual([
      'decided by memory',
      'decided by memory',
      'decided by memory',
      'default denied 127.0.0.1',
    ]);
  });

  it('events report an outage of Redis, each affected request, and the recovery', async () => {
    const { get, seen } = await start({ redis: server.url });
    const isCounted = async () => (await get('/')) && seen.at(-1) === 'decided by redis';
    await until(isCounted, 'Redis to decide');
    seen.length = 0;
    await server.kill();
    await get('/');
    await get('/');
    await server.restart();
    await until(() => seen.includes('breaker closed'), 'the breaker to close');
    await get('/');
    expect(seen.map((line) => line.replace(/^store: .*/, 'store failed'))).toEqual([
      'breaker open',
      'store failed',
      'decided by fallback',
      'store failed',
      'decided by fallback',
      'breaker closed',
      'decided by redis',
    ]);
  });
});
