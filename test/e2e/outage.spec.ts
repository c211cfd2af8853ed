import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitEvents,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
  type Rule,
} from '../../lib/index.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp, type TestApp } from '../support/nest-app.js';
import { hasFunctions } from '../support/redis/lua-calls.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { INSTANCE } from '../support/denial-id.js';

const RULES: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 100, algorithm: 'fixed-window' } },
  timeout: 10_000,
};

@Controller()
class Routes {
  @Get() get() {}
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('the log at start, on %s', (framework) => {
  const start = (options: RateLimitModuleOptions) =>
    startApp({ imports: [RateLimitModule.forRoot(options)], controllers: [Routes] }, { framework });

  it('the log reports once that the memory store counts for each process separately', async () => {
    const { get, logs } = await start(RULES);
    await get('/');
    await get('/');
    expect(logs.ours()).toEqual([
      {
        level: 'log',
        message:
          'No `redis` given: counting in the memory of this process. Each process counts separately, and a restart clears the counters.',
      },
    ]);
  });

  it.each([
    [true, hasFunctions ? /^Redis runs the limiter as functions \(library \w+\)\.$/ : /as scripts \(.+\)\.$/],
    [false, /^Redis runs the limiter as scripts \(`functions: false`\)\.$/],
  ])('the log reports the form of the Lua at start with Redis and functions: %s', async (functions, line) => {
    const redis = redisUrl();
    const { get, logs } = await start({ ...RULES, redis, functions, prefix: uniquePrefix() });
    expect(limitHeaders(await get('/'))).not.toEqual({});
    expect(logs.forms()).toEqual([expect.stringMatching(line)]);
    expect(logs.ours()).toEqual([]);
  });
});

describe.each(FRAMEWORKS)('without Redis, on %s', (framework) => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  beforeEach(() => server.restart());

  const start = (onStoreError?: 'allow' | 'deny' | 'local', options: RateLimitModuleOptions = {}) =>
    startApp(
      {
        imports: [RateLimitModule.forRoot({ ...RULES, redis: server.url, onStoreError, ...options })],
        controllers: [Routes],
      },
      { framework },
    );

  const isDecidedByRedis = ({ app }: TestApp) =>
    app.get(RateLimitService).peek(RULES.rules!['default'] as Rule, 'x');
  const untilCounted = (app: TestApp) =>
    until(async () => (await isDecidedByRedis(app)).source === 'redis', 'Redis to count again');
  const levels = ({ logs }: TestApp) => logs.ours().map(({ level }) => level);

  it('requests are limited in memory when Redis was never there, then in Redis, with one log line each', async () => {
    await server.kill();
    const app = await start();
    const answers = [];
    for (let nth = 1; nth <= 101; nth++) answers.push(await app.get('/'));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 100 }, () => 200), 429]);
    expect(limitHeaders(answers[0]!)).toMatchObject({
      ratelimit: expect.stringMatching(/^"default";r=99;t=/),
    });
    await server.restart();
    await untilCounted(app);
    expect(limitHeaders(await app.get('/'))).toMatchObject({ ratelimit: expect.stringMatching(/;r=99;/) });
    expect(app.logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide \(.+\); until it does, each process limits in its memory, by its share of the limit\. \(RL_REDIS_UNAVAILABLE, see docs\/warnings\.md\)$/,
        ),
      },
      { level: 'log', message: 'Redis decides again.' },
    ]);
  });

  it("onStoreError 'allow' allows requests without headers", async () => {
    await server.kill();
    const app = await start('allow');
    for (let nth = 1; nth <= 3; nth++) {
      const answer = await app.get('/');
      expect([answer.status, limitHeaders(answer)]).toEqual([200, {}]);
    }
  });

  it('headers, decision and event report the share of the process', async () => {
    await server.kill();
    const app = await start(undefined, { instances: 4 });
    const sources: unknown[] = [];
    app.app
      .get(RateLimitEvents)
      .on('decision', ({ decision }) => sources.push([decision.source, decision.fallback]));
    const statuses = [];
    for (let nth = 1; nth <= 26; nth++) statuses.push((await app.get('/')).status);
    expect(statuses).toEqual([...Array.from({ length: 25 }, () => 200), 429]);
    expect(new Set(sources.map(String))).toEqual(new Set(['fallback,local']));
    expect(limitHeaders(await app.get('/'))).toMatchObject({ 'ratelimit-policy': '"default";q=25;w=60' });
  });

  it('the log reports what each rule with its own onStoreError does', async () => {
    await server.kill();
    const strict = { login: { window: '1m', limit: 5, onStoreError: 'deny' } } as const;
    const app = await start(undefined, { rules: { ...RULES.rules, ...strict } });
    expect(app.logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /until it does, each process limits in its memory, by its share of the limit; requests are denied with a 503 by the rule "login"\. \(RL_REDIS_UNAVAILABLE, see docs\/warnings\.md\)$/,
        ),
      },
    ]);
  });

  it('a concurrency limit with a default share is reported once, but not if it was chosen', async () => {
    const seats = { algorithm: 'concurrency', limit: 1 } as const;
    const rules = { seats, exports: seats, mutex: { ...seats, onStoreError: 'deny' } } as const;
    const hints = ({ logs }: TestApp) =>
      logs.ours().filter(({ message }) => message.includes('RL_CONCURRENCY_FALLBACK'));
    const app = await start(undefined, { rules });
    expect(hints(app)).toEqual([
      {
        level: 'warn',
        message: expect.stringContaining('the permits of the rules "seats", "exports", at least 1'),
      },
    ]);
    expect(hints(await start('local', { rules }))).toEqual([]);
    expect(hints(await start(undefined, { rules, redis: undefined }))).toEqual([]);
  });

  it('requests stay limited when Redis dies later, with a log line each time', async () => {
    const app = await start();
    await untilCounted(app); // At once, except on a machine that needs a second to connect.
    for (let outage = 1; outage <= 2; outage++) {
      await server.kill();
      for (let nth = 1; nth <= 3; nth++) expect((await app.get('/')).status).toBe(200);
      await server.restart();
      await untilCounted(app);
    }
    expect(levels(app)).toEqual(['warn', 'log', 'warn', 'log']);
  });

  it("onStoreError 'deny' responds with 503 while Redis is down and recovers automatically", async () => {
    const app = await start('deny');
    await untilCounted(app); // At once, except on a machine that needs a second to connect.
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
        ...INSTANCE,
      });
    }
    await server.restart();
    await untilCounted(app);
    expect(app.logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide \(.+\); until it does, requests are denied with a 503\. \(RL_REDIS_UNAVAILABLE, see docs\/warnings\.md\)$/,
        ),
      },
      { level: 'log', message: 'Redis decides again.' },
    ]);
  });

  it("onStoreError 'deny' responds with 503 when Redis was never there", async () => {
    await server.kill();
    const app = await start('deny');
    expect((await app.get('/')).status).toBe(503);
    await server.restart();
    await untilCounted(app);
  });

  it('the application starts and stops without Redis and logs it at start', async () => {
    await server.kill();
    const app = await start();
    await app.close();
    expect(app.logs.ours()).toEqual([
      { level: 'warn', message: expect.stringMatching(/^Redis could not decide \(.*ECONNREFUSED/) },
    ]);
  });
});
