import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitHealth,
  RateLimitModule,
  Warnings,
  type Decision,
  type RateLimitModuleOptions,
  type RouteRule,
} from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { ALLOWED } from '../support/config-message.js';
import { limitHeaders } from '../support/http-client.js';
import { closeApps, FRAMEWORKS, startApp, type TestApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const LOG = { window: '1m', limit: 10, algorithm: 'sliding-window-log' } as const;

afterEach(closeApps);

const INVALID = '(RL_INVALID_VALUE, see docs/warnings.md)';

describe.each(FRAMEWORKS)('a function in a rule that fails, on %s', (framework) => {
  const LIMIT = 'an integer from 0 to 1000000000';
  const BY = 'a function that gives a string or a number, or nothing';
  const BY_LAST =
    'Such a request is limited by the last valid limit and window, and gets a 503 if there are none yet; correct the function.';
  const CHARGED = 'Such a request takes 1 permit; correct the function.';
  const BY_IP = 'Such a request counts by its IP; correct the function.';
  const WINDOW = ALLOWED.duration;
  const limits: [string, Partial<RouteRule>, string][] = [
    ['a negative limit', { limit: () => -1 }, `limit: got -1; allowed: ${LIMIT}`],
    ['no limit', { limit: () => NaN }, `limit: got NaN; allowed: ${LIMIT}`],
    ['an endless limit', { limit: () => Infinity }, `limit: got Infinity; allowed: ${LIMIT}`],
    ['a window of nonsense', { window: () => '1x' }, `window: got "1x"; allowed: ${WINDOW}`],
    ['nothing at all', { limit: () => undefined as never }, `limit: missing; allowed: ${LIMIT}`],
  ];
  const others: [string, Partial<RouteRule>, string][] = [
    [
      'an endless cost',
      { limit: 1e9, algorithm: 'fixed-window', cost: async () => Infinity },
      `cost: got Infinity; allowed: ${LIMIT}. ${CHARGED.replace('1 permit', '1000000000 permits')}`,
    ],
    ...[`1${'0'.repeat(20)}`, '1e20', 10n ** 20n].map((cost): [string, Partial<RouteRule>, string] => [
      `a cost of 10^20 as ${typeof cost} ${cost}`,
      { limit: 1e9, algorithm: 'fixed-window', cost: () => cost as never },
      `cost: got ${typeof cost === 'string' ? `"${cost}"` : `${cost}n`}; allowed: ${LIMIT}. ${CHARGED.replace('1 permit', '1000000000 permits')}`,
    ]),
    [
      'a cost with a sign',
      { limit: 3, cost: () => '+3' as never },
      `cost: got "+3"; allowed: ${LIMIT}. ${CHARGED.replace('1 permit', '3 permits')}`,
    ],
    ['a negative cost', { cost: () => '-3' as never }, `cost: got "-3"; allowed: ${LIMIT}. ${CHARGED}`],
    [
      'a symbol for a cost',
      { cost: () => Symbol('2') as never },
      `cost: got Symbol(2); allowed: ${LIMIT}. ${CHARGED}`,
    ],
    [
      'a subject that is an object',
      { by: (() => ({ id: 1 })) as never },
      `by: got {"id":1}; allowed: ${BY}. ${BY_IP}`,
    ],
    [
      'a promise of an object as subject',
      { by: (async () => ({ id: 1 })) as never },
      `by: got {"id":1}; allowed: ${BY}. ${BY_IP}`,
    ],
    ['a subject that is no number', { by: () => NaN }, `by: got NaN; allowed: ${BY}. ${BY_IP}`],
    [
      'a part of a subject that is a symbol',
      { by: ['ip', (() => Symbol('a')) as never] },
      `by: got Symbol(a); allowed: ${BY}. ${BY_IP}`,
    ],
  ];

  async function start(rule: Partial<RouteRule>, options: RateLimitModuleOptions = {}) {
    @RateLimit({ ...LOG, name: 'login', ...rule } as RouteRule)
    @Controller()
    class Broken {
      @Get() get() {}
    }
    @Controller('fine')
    class Fine {
      @Get() get() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [Broken, Fine] };
    const app = await startApp(metadata, { framework });
    const logged = (level: string) =>
      app.logs.lines.filter((line) => line.level === level).map(({ message }) => message);
    return { ...app, errors: () => logged('error'), warnings: () => logged('warn') };
  }

  const statusesOf = async ({ get }: TestApp, times = 2) => {
    const statuses = [];
    for (let nth = 1; nth <= times; nth++) statuses.push((await get('/')).status);
    return statuses;
  };

  describe.each(['local', 'deny'] as const)('where onStoreError is %s', (onStoreError) => {
    it.each(limits)(
      'a request gets a 503 on its route only when a function returns %s, and the log states the allowed values once',
      async (_title, rule, reason) => {
        const app = await start(rule, { onStoreError });
        expect(await statusesOf(app)).toEqual([503, 503]);
        expect((await app.get('/fine')).status).toBe(200);
        expect(app.errors()).toEqual([]);
        expect(app.warnings()).toEqual([`rule "login" of Broken.get.${reason}. ${BY_LAST} ${INVALID}`]);
        expect([...app.app.get(Warnings).active.keys()]).toEqual(['RL_INVALID_VALUE']);
      },
    );
  });

  it.each(limits)(
    "onStoreError 'allow' allows a request when a function returns %s",
    async (_title, rule, reason) => {
      const app = await start({ ...rule, onStoreError: 'allow' });
      expect(await statusesOf(app)).toEqual([200, 200]);
      expect(app.errors()).toEqual([]);
      expect(app.warnings()).toEqual([
        `rule "login" of Broken.get.${reason}. As \`onStoreError\` says, such a request is allowed without this rule; correct the function. ${INVALID}`,
      ]);
    },
  );

  describe.each(['local', 'allow', 'deny'] as const)('where onStoreError is %s', (onStoreError) => {
    it.each(others)('a rule applies when its function returns %s', async (_title, rule, reason) => {
      const app = await start({ limit: 1, ...rule }, { onStoreError });
      expect(await statusesOf(app)).toEqual([200, 429]);
      expect(app.errors()).toEqual([]);
      expect(app.warnings()).toEqual([`rule "login" of Broken.get.${reason} ${INVALID}`]);
    });
  });

  it('a denial by an invalid value has Retry-After and is reported to operators', async () => {
    const app = await start({ limit: () => -1 }, { onStoreError: 'deny' });
    const emitted: Decision[] = [];
    const { events } = app.app.get(RateLimiter);
    events.on('decision', ({ decision }) => emitted.push(decision));
    events.on('decision', ({ decision }) => emitted.push(decision), { only: 'denied' });
    const answer = await app.get('/');
    expect(answer.status).toBe(503);
    expect(limitHeaders(answer)).toEqual({ 'retry-after': '1' });
    expect(JSON.parse(answer.body)).toMatchObject({ 'violated-policies': ['login'], retryAfterMs: 1000 });
    const denied = {
      allowed: false,
      rule: 'login',
      retryAfterMs: 1000,
      source: 'fallback',
      fallback: 'deny',
    };
    expect(emitted).toMatchObject([denied, denied]);
  });

  it.each([undefined, 'local', 'allow', 'deny'] as const)(
    'the warning about an invalid value is in health with onStoreError %s',
    async (onStoreError) => {
      const app = await start({ limit: () => -1 }, { ...(onStoreError && { onStoreError }) });
      expect(await statusesOf(app, 3)).toEqual(Array(3).fill(onStoreError === 'allow' ? 200 : 503));
      expect(app.warnings()).toHaveLength(1);
      const { rateLimit } = await app.app.get(RateLimitHealth).isHealthy();
      expect(rateLimit.warnings).toEqual(['RL_INVALID_VALUE']);
    },
  );

  it('a function can return a limit and a cost as strings of digits', async () => {
    const app = await start({ limit: (() => '7') as never, cost: (async () => '3') as never });
    expect(await statusesOf(app, 3)).toEqual([200, 200, 429]);
    expect(app.warnings()).toEqual([]);
  });

  it('an invalid value of a shadow rule causes no 503', async () => {
    const limit = () => -1;
    expect(await statusesOf(await start({ limit }, { onStoreError: 'deny' }), 1)).toEqual([503]);
    const shadow = await start({ limit, mode: 'shadow' }, { onStoreError: 'deny' });
    expect(await statusesOf(shadow, 1)).toEqual([200]);
  });

  it('the other rules of a route apply when a function returns an invalid value', async () => {
    const total = { window: '1m', limit: 1, algorithm: 'fixed-window' } as const;
    const options = { rules: { total }, onStoreError: 'allow' } as const;
    expect(await statusesOf(await start({ limit: () => -1 }, options))).toEqual([200, 429]);
  });

  it('an invalid value is reported once per rule and field, and not if the warning is off', async () => {
    const limit = () => -1;
    const rules = { first: { ...LOG, limit }, second: { ...LOG, limit } };
    const cost = () => -1;
    const both = await start({ cost, by: cost as never }, { rules, onStoreError: 'allow' });
    await statusesOf(both, 3);
    expect(both.warnings()).toHaveLength(3);
    const quiet = await start({ limit }, { warnings: { RL_INVALID_VALUE: false }, onStoreError: 'allow' });
    await statusesOf(quiet);
    expect(quiet.warnings()).toEqual([]);
  });

  it('a function of a class is reported for each class whose handlers have a limit of their own', async () => {
    const invalid = (() => 'x') as never;
    @RateLimit({ cost: invalid })
    @Controller('one')
    class One {
      @RateLimit('1m', 5)
      @Get()
      get() {}
    }
    @RateLimit({ cost: invalid })
    @Controller('other')
    class Other {
      @RateLimit('1m', 5)
      @Get()
      get() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot()], controllers: [One, Other] };
    const { get, logs } = await startApp(metadata, { framework });
    for (const path of ['/one', '/other', '/one']) await get(path);
    const reported = logs.ours().flatMap(({ message }) => /^rule .*?: got/.exec(message)?.[0] ?? []);
    expect(reported).toEqual([
      'rule "default" of One.get.cost: got',
      'rule "default" of Other.get.cost: got',
    ]);
  });

  it('rules without a name are reported for each route, and a rule of the class once', async () => {
    const invalid = (() => 'x') as never;
    @RateLimit({ ...LOG, name: 'class', cost: invalid })
    @Controller()
    class Broken {
      @RateLimit({ ...LOG, limit: invalid })
      @Get('a')
      a() {}

      @RateLimit({ ...LOG, limit: () => -1 })
      @Get('b')
      b() {}

      @RateLimit({ ...LOG, plans: { free: {} }, plan: () => 'pro' })
      @Get('c')
      c() {}

      @RateLimit({ ...LOG, plans: { free: {} }, plan: () => 'max' })
      @Get('d')
      d() {}
    }
    const options = { onStoreError: 'allow', rules: { all: { ...LOG, skipIf: invalid } } } as const;
    const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [Broken] };
    const { get, logs } = await startApp(metadata, { framework });
    for (const path of ['/a', '/b', '/c', '/d', '/a']) await get(path);
    const reported = logs.ours().map(({ message }) => /^rule .*?: got/.exec(message)?.[0]);
    expect(reported.sort()).toEqual([
      'rule "all" of Broken.a.skipIf: got',
      'rule "class" of Broken.a.cost: got',
      'rule "default" of Broken.a.limit: got',
      'rule "default" of Broken.b.limit: got',
      'rule "default" of Broken.c.plan: got',
      'rule "default" of Broken.d.plan: got',
    ]);
  });

  it('a rule applies when its skipIf returns neither true nor false', async () => {
    const skipIf = (() => 'no') as never;
    const app = await start({ ...LOG, limit: 1, skipIf });
    expect(await statusesOf(app)).toEqual([200, 429]);
    expect(app.warnings()).toEqual([
      `rule "login" of Broken.get.skipIf: got "no"; allowed: a function that returns true or false. The rule applies to such a request; correct the function. ${INVALID}`,
    ]);
  });

  it('a rule applies when its skipIf returns undefined', async () => {
    const app = await start({ ...LOG, limit: 1, skipIf: (() => undefined) as never });
    expect(await statusesOf(app)).toEqual([200, 429]);
    expect(app.warnings()).toEqual([]);
  });

  it('a charge is kept when the count function returns undefined', async () => {
    const app = await start({ ...LOG, limit: 1, count: (() => undefined) as never });
    await app.get('/');
    await until(() => app.warnings().length > 0, 'the response to be settled');
    expect((await app.get('/')).status).toBe(429);
    expect(app.warnings()).toEqual([
      `rule "login" of Broken.get.count: got undefined; allowed: a function that returns true or false. The request stays charged; correct the function. ${INVALID}`,
    ]);
  });

  it('a function of a shadow rule that throws or rejects is reported once, and the other rules apply', async () => {
    const thrown = () => {
      throw new Error('no such plan');
    };
    const total = { window: '1m', limit: 2, algorithm: 'fixed-window' } as const;
    const rules: Partial<RouteRule>[] = [
      { limit: thrown },
      { window: async () => thrown() },
      { cost: async () => thrown() },
      { skipIf: thrown },
      { plan: thrown, plans: { free: { limit: 1 } } },
      { by: thrown },
      { by: ['ip', async () => thrown()] },
    ];
    for (const rule of rules) {
      const app = await start({ ...rule, mode: 'shadow' }, { rules: { total } });
      expect(await statusesOf(app, 3)).toEqual([200, 200, 429]);
      expect(app.errors()).toEqual([]);
      expect(app.warnings()).toEqual([
        `rule "login" of Broken.get.${Object.keys(rule)[0]}: threw "no such plan". In shadow mode, such a request is allowed without this rule; correct the function. ${INVALID}`,
      ]);
    }
  });

  it('a function that throws or rejects causes a 500, and the application continues', async () => {
    const thrown = () => {
      throw new Error('no such plan');
    };
    const rules: Partial<RouteRule>[] = [
      { limit: thrown },
      { cost: async () => thrown() },
      { skipIf: thrown },
      { by: async () => thrown() },
    ];
    for (const rule of rules) {
      const app = await start(rule);
      expect(await statusesOf(app, 1)).toEqual([500]);
      expect(app.errors()).toEqual(['no such plan']);
      expect((await app.get('/fine')).status).toBe(200);
    }
  });
});
