import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { limitHeaders, type Answer } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp, type TestApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { hasRedisBinary, redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const RULES: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 100, algorithm: 'fixed-window' } },
  timeout: 10_000,
};

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('what the log says at start, on %s', (framework) => {
  const start = (options: RateLimitModuleOptions) =>
    startApp({ imports: [RateLimitModule.forRoot(options)], controllers: [Routes] }, { framework });

  it('is once that memory counts for each process by itself', async () => {
    const { get, logs } = await start(RULES);
    await get('/');
    await get('/');
    expect(logs.ours()).toEqual([
      {
        level: 'log',
        message:
          'No `redis` given: counting in the memory of this process. Each process has counters of its own, and a restart forgets them.',
      },
    ]);
  });

  it('is nothing with Redis', async () => {
    const { get, logs } = await start({ ...RULES, redis: redisUrl(), prefix: uniquePrefix() });
    expect(limitHeaders(await get('/'))).not.toEqual({});
    expect(logs.ours()).toEqual([]);
  });
});

(hasRedisBinary() ? describe : describe.skip).each(FRAMEWORKS)('without Redis, on %s', (framework) => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  beforeEach(() => server.restart());

  const start = (onStoreError?: 'allow' | 'deny') =>
    startApp(
      {
        imports: [RateLimitModule.forRoot({ ...RULES, redis: server.url, onStoreError })],
        controllers: [Routes],
      },
      { framework },
    );

  const counts = (answer: Answer) => answer.status === 200 && 'ratelimit' in limitHeaders(answer);
  const untilCounted = ({ get }: TestApp) =>
    until(async () => counts(await get('/')), 'Redis to count again');
  const levels = ({ logs }: TestApp) => logs.ours().map(({ level }) => level);

  it('lets requests pass by default when it was never there, counts once it is, and says each once', async () => {
    await server.kill();
    const app = await start();
    for (let nth = 1; nth <= 3; nth++) {
      const answer = await app.get('/');
      expect([answer.status, limitHeaders(answer)]).toEqual([200, {}]);
    }
    await server.restart();
    await untilCounted(app);
    await app.get('/');
    expect(app.logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide \(.+\); until it does, limited requests are allowed\.$/,
        ),
      },
      { level: 'log', message: 'Redis decides again.' },
    ]);
  });

  it('lets requests pass when Redis dies later, and warns again each time it does', async () => {
    const app = await start();
    await untilCounted(app); // At once, but for a machine that takes a second to connect.
    for (let outage = 1; outage <= 2; outage++) {
      await server.kill();
      for (let nth = 1; nth <= 3; nth++) expect((await app.get('/')).status).toBe(200);
      await server.restart();
      await untilCounted(app);
    }
    expect(levels(app)).toEqual(['warn', 'log', 'warn', 'log']);
  });

  it("answers 503 with onStoreError 'deny' for as long as Redis is away, and serves again by itself", async () => {
    const app = await start('deny');
    await untilCounted(app); // At once, but for a machine that takes a second to connect.
    await server.kill();
    for (let nth = 1; nth <= 2; nth++) {
      const answer = await app.get('/');
      expect(answer.status).toBe(503);
      expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(limitHeaders(answer)).toEqual({ 'retry-after': '1' });
      expect(JSON.parse(answer.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporarily reduced capacity',
        status: 503,
        detail: 'The rate limit cannot be checked at the moment; try again in 1 s.',
        'violated-policies': ['default'],
        retryAfterMs: 1000,
      });
    }
    await server.restart();
    await untilCounted(app);
    expect(app.logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide \(.+\); until it does, limited requests are denied with a 503\.$/,
        ),
      },
      { level: 'log', message: 'Redis decides again.' },
    ]);
  });

  it("answers 503 with onStoreError 'deny' when Redis was never there", async () => {
    await server.kill();
    const app = await start('deny');
    expect((await app.get('/')).status).toBe(503);
    await server.restart();
    await untilCounted(app);
  });

  it('starts and stops the app without Redis, and says at start that it is not there', async () => {
    await server.kill();
    const app = await start();
    await app.close();
    expect(app.logs.ours()).toEqual([
      { level: 'warn', message: expect.stringMatching(/^Redis could not decide \(.*ECONNREFUSED/) },
    ]);
  });
});
