import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, SkipRateLimit, type RouteRule } from '../../lib/index.js';
import { closeApps, refusalToStart } from '../support/nest-app.js';

const ONE = { window: '1m', limit: 1 } as const;
const HOUR = { window: '1h', limit: 9, algorithm: 'gcra' } as const;

/** Returns the problems because of which an application does not start. */
async function problems(options: unknown, ...decorators: (ClassDecorator & MethodDecorator)[]) {
  @Controller()
  class Routes {
    @Get() get() {}
  }
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'get')!;
  for (const decorate of decorators) decorate(Routes.prototype, 'get', descriptor);
  const message = await refusalToStart({
    imports: [RateLimitModule.forRoot(options as never)],
    controllers: [Routes],
  });
  return message
    .split('\n')
    .slice(1)
    .map((line) => line.replace('  - ', ''));
}

afterEach(closeApps);

describe('options of other rate limiters stop the application with the replacement:', () => {
  const one = 'the options of RateLimitModule';

  it.each<[string, unknown, string]>([
    [
      'a list',
      [{ ttl: 60_000, limit: 10 }],
      `${one}: got a list; write { rules: { default: { window: "60s", limit: 10 } } }`,
    ],
    ['a URL', 'redis://cache', `${one}: got a text; write { redis: "redis://host:6379" }`],
    [
      'throttlers',
      {
        throttlers: [
          { name: 'short', ttl: 1000, limit: 3 },
          { name: 'per-hour', ttl: 90_500, limit: 20, blockDuration: 60_000 },
        ],
      },
      'throttlers: write rules: { short: { window: "1s", limit: 3 }, "per-hour": { window: "90500ms", limit: 20, block: "60s" } }',
    ],
    [
      'throttlers of a function',
      { throttlers: () => [] },
      'throttlers: write rules: { default: { window: "1m", limit: 100 } }',
    ],
    ['storage', { storage: {} }, 'storage: write redis: "redis://host:6379", or a client of ioredis'],
    ['host', { host: 'cache' }, 'host: write redis: { host: "…", port: 6379 }'],
    ['errorMessage', { errorMessage: 'slow down' }, 'errorMessage: write body: a function of the decision'],
    ['setHeaders', { setHeaders: false }, 'setHeaders: write headers: "draft-10", "legacy" or false'],
    ['keyPrefix', { keyPrefix: 'app' }, 'keyPrefix: write prefix: "rl:"'],
    [
      'ttl',
      { ttl: 60 },
      'ttl: a field of a rule: write rules: { default: { window: "60s" or window: "60ms" } }',
    ],
    ['limit', { limit: 5 }, 'limit: a field of a rule: write rules: { default: { limit: 5 } }'],
    ['skipIf', { skipIf: () => true }, 'skipIf: a field of a rule: write rules: { default: { skipIf: … } }'],
    [
      'getTracker',
      { getTracker: () => '' },
      'getTracker: a field of a rule: write rules: { default: { by: "ip", "user" or a function of the ExecutionContext } }',
    ],
  ])('%s', async (_title, options, problem) => {
    expect(await problems(options)).toEqual([problem]);
  });
});

describe('fields of other rate limiters in a rule stop the application with the replacement:', () => {
  it.each<[object, string]>([
    [{ ttl: 60_000 }, 'ttl: write window: "60s"'],
    [{ ttl: 60 }, 'ttl: write window: "60s" or window: "60ms"'],
    [{ ttl: () => 60_000 }, 'ttl: write window: …'],
    [{ windowMs: 900_000 }, 'windowMs: write window: "900s"'],
    [{ windowMs: 250 }, 'windowMs: write window: "250ms"'],
    [{ timeWindow: '1 minute' }, 'timeWindow: write window: "1m"'],
    [{ duration: 60 }, 'duration: write window: "60s"'],
    [{ points: 5 }, 'points: write limit: 5'],
    [{ max: 5 }, 'max: write limit: 5'],
    [{ blockDuration: 300_000 }, 'blockDuration: write block: "300s"'],
    [
      { keyGenerator: () => '' },
      'keyGenerator: write by: "ip", "user" or a function of the ExecutionContext',
    ],
    [{ skip: () => true }, 'skip: write skipIf: a function of the ExecutionContext'],
    [{ skipSuccessfulRequests: true }, 'skipSuccessfulRequests: write count: "failures"'],
    [{ skipFailedRequests: true }, 'skipFailedRequests: write count: "successes"'],
    [{ execEvenly: true }, 'execEvenly: write algorithm: "leaky-bucket"'],
  ])('%j', async (field, problem) => {
    expect(await problems({ rules: { default: { ...ONE, ...field } } })).toEqual([
      `rules.default.${problem}`,
    ]);
  });

  it('a rule under its name in a decorator, as in @nestjs/throttler, stops the application with the correct form', async () => {
    const path = '@RateLimit on Routes.get';
    const options = { rules: { default: ONE, short: ONE } };
    const given = { default: { limit: 3, ttl: 60_000 }, short: { ttl: 1000, limit: 1 } };
    expect(await problems(options, RateLimit(given as RouteRule))).toEqual([
      `${path}.default: a rule is one object, with its name in \`name\`: write { limit: 3, window: "60s" }`,
      `${path}.short: a rule is one object, with its name in \`name\`: write { name: "short", window: "1s", limit: 1 }`,
    ]);
  });

  it('an option of another algorithm stops the application when the algorithm is the default', async () => {
    const [problem] = await problems({ rules: { default: { ...ONE, burst: 5 } } });
    expect(problem).toMatch(
      /^rules.default.burst: no such option of sliding-window-log, the default algorithm; token-bucket and gcra have it; allowed: /,
    );
    const [chosen] = await problems({ rules: { default: { ...HOUR, queue: 5 } } });
    expect(chosen).toMatch(
      /^rules.default.queue: no such option of gcra; leaky-bucket and concurrency have it; allowed: /,
    );
    const [nested] = await problems({ rules: { default: { ...ONE, prefetch: { permits: 5, ttl: '1s' } } } });
    expect(nested).toMatch(
      /^rules.default.prefetch: no such option of sliding-window-log, the default algorithm; fixed-window, .* and gcra have it; /,
    );
  });
});

describe('@SkipRateLimit with anything but names stops the application with the replacement:', () => {
  const path = '@SkipRateLimit on Routes.get';

  it.each<[unknown, string]>([
    [{ default: true }, `${path}: got {"default":true}; write @SkipRateLimit("default")`],
    [
      { default: true, short: true },
      `${path}: got {"default":true,"short":true}; write @SkipRateLimit("default", "short")`,
    ],
    [{ default: false }, `${path}: got {"default":false}; allowed: names of rules`],
    [['default', 'short'], `${path}: got ["default","short"]; write @SkipRateLimit("default", "short")`],
    [true, `${path}: got true; write @SkipRateLimit()`],
    [5, `${path}: got 5; allowed: names of rules`],
    [undefined, `${path}: got undefined; allowed: names of rules`],
  ])('%j', async (given, problem) => {
    expect(await problems({ rules: { default: ONE, short: ONE } }, SkipRateLimit(given as never))).toEqual([
      problem,
    ]);
  });
});
