import { Controller, HttpCode, Post, UnauthorizedException, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitModule,
  RateLimitService,
  type By,
  type RateLimitModuleOptions,
  type RouteRule,
} from '../../lib/index.js';
import type { SubjectValue } from '../../lib/rules/subject.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { STORES, virtualStore, VirtualTime, type StoreKind } from '../support/virtual-store.js';

const FIVE = { window: '1m', limit: 5, algorithm: 'fixed-window', block: 'manual' } as const;

const IP = '203.0.113.7';

interface LoginRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  user?: unknown;
}

/** A login that always fails, with a rule that counts failures. */
function loginController(rule: RouteRule | string) {
  @Controller('login')
  class LoginController {
    @(typeof rule === 'string' ? RateLimit(rule) : RateLimit(rule))
    @Post()
    @HttpCode(200)
    login(): never {
      throw new UnauthorizedException();
    }
  }
  return LoginController;
}

/** Sets the user from a header, as authentication middleware would do before the guards. */
function authenticate(request: LoginRequest, _response: unknown, next: () => void): void {
  const id = request.headers['x-user'];
  if (id !== undefined) request.user = { id: Number(id) };
  next();
}

const tenantOf = (context: ExecutionContext): string | undefined =>
  context.switchToHttp().getRequest<LoginRequest>().headers['x-tenant'];

/** The subject of a rule, the headers of the client, and the subject as a program passes it. */
const SUBJECTS: [string, By | readonly By[], Record<string, string>, SubjectValue][] = [
  ['an IP', 'ip', {}, IP],
  ['an IP as a dual-stack socket shows it', 'ip', {}, `::ffff:${IP}`],
  ['an API key', 'api-key', { 'x-api-key': 'sk-live-1' }, 'sk-live-1'],
  ['a header', 'x-device', { 'x-device': 'phone 7' }, ' phone 7 '],
  ['credentials', 'authorization', { authorization: 'Bearer abc' }, 'bearer abc'],
  ['a header without a hyphen', { header: 'apikey' }, { apikey: 'k1' }, 'k1'],
  ['a user', 'user', { 'x-user': '42' }, 42],
  ['a user as a text', 'user', { 'x-user': '42' }, '42'],
  ['everyone', 'everyone', {}, 'everyone'],
  ['what a function returns', tenantOf, { 'x-tenant': 'acme' }, 'acme'],
  ['a tuple', ['ip', 'x-device'], { 'x-device': 'phone 7' }, [IP, 'phone 7']],
  ['a user and a key', ['user', 'api-key'], { 'x-user': '42', 'x-api-key': 'k' }, [42, 'k']],
  ['a request without its subject, by its IP', 'api-key', {}, ['', IP]],
];

afterEach(closeApps);

describe.each(STORES)('with %s', (kind) => {
  async function start(
    rule: RouteRule | string,
    options: RateLimitModuleOptions = {},
    headers: Record<string, string> = {},
    store: StoreKind = kind,
  ) {
    const time = new VirtualTime();
    const LoginController = loginController(rule);
    const imports = [RateLimitModule.forRoot({ prefix: uniquePrefix(), ...options })];
    const { app, send } = await startApp(
      { imports, controllers: [LoginController] },
      {
        framework: 'express',
        store: virtualStore(store, time),
        trustProxy: true,
        configure: (configured) => void configured.use(authenticate),
      },
    );
    const login = async (ip = IP, others: Record<string, string> = {}) => {
      const sent = { 'x-forwarded-for': ip, ...headers, ...others };
      return (await send({ method: 'POST', path: '/login', headers: sent })).status;
    };
    const logins = async (times: number) => {
      const statuses: number[] = [];
      for (let nth = 0; nth < times; nth += 1) statuses.push(await login());
      return statuses;
    };
    const route = [LoginController, 'login'] as const;
    return { time, login, logins, limits: app.get(RateLimitService), route, LoginController };
  }

  describe.each(SUBJECTS)(
    'a program that names the route of failed logins and %s',
    (_title, by, headers, subject) => {
      it('a program can peek at, reset and block the counters of a route', async () => {
        const { limits, logins, route } = await start({ ...FIVE, by, count: 'failures' }, {}, headers);
        expect(await logins(6)).toEqual([401, 401, 401, 401, 401, 429]);
        const counter = { route, rule: 'default' };
        expect(await limits.peek(counter, subject)).toMatchObject({ allowed: false, remaining: 0 });
        expect(await limits.reset(counter, subject)).toBe(true);
        expect(await limits.reset(counter, subject)).toBe(false);
        expect(await logins(1)).toEqual([401]);
        expect(await limits.consume({ route }, subject, { cost: 2 })).toMatchObject({ remaining: 2 });
        await limits.block({ route }, subject, '1h');
        expect(await logins(1)).toEqual([429]);
        expect(await limits.reset({ route }, subject)).toBe(true);
        expect(await logins(5)).toEqual([401, 401, 401, 401, 401]);
      });

      it('a program can peek at, reset and block a shared rule by its name', async () => {
        const options = { onDemand: { login: { ...FIVE, by, count: 'failures' } } } as const;
        const { limits, logins } = await start('login', options, headers);
        expect(await logins(6)).toEqual([401, 401, 401, 401, 401, 429]);
        expect(await limits.peek('login', subject)).toMatchObject({ allowed: false, remaining: 0 });
        expect(await limits.reset('login', subject)).toBe(true);
        expect(await limits.reset('login', subject)).toBe(false);
        await limits.block('login', subject, '1h');
        expect(await logins(1)).toEqual([429]);
      });
    },
  );

  it('a program resets one client and no other', async () => {
    const { limits, login, route } = await start({ ...FIVE, limit: 1 });
    expect([await login('1.1.1.1'), await login('2.2.2.2')]).toEqual([401, 401]);
    expect(await limits.reset({ route }, '1.1.1.1')).toBe(true);
    expect([await login('1.1.1.1'), await login('2.2.2.2')]).toEqual([401, 429]);
  });

  it('all addresses of an IPv6 network are the same subject for a program', async () => {
    const { limits, login, route } = await start({ ...FIVE, limit: 1 });
    expect(await login('2001:db8:1:2::1')).toBe(401);
    expect(await limits.reset({ route }, '2001:db8:1:2:ffff::9')).toBe(true);
    expect(await login('2001:db8:1:2::1')).toBe(401);
    expect(await limits.reset({ route }, '2001:db8:1:2::/64')).toBe(true);
  });

  it('a rule without `by` accepts an IP or any other value by name', async () => {
    const options = { onDemand: { login: FIVE } };
    const { limits, login } = await start('login', options);
    expect(await login(IP)).toBe(401);
    expect(await limits.peek('login', `::ffff:${IP}`, { cost: 0 })).toMatchObject({ remaining: 4 });
    expect(await limits.consume('login', 'tenant-7')).toMatchObject({ remaining: 4 });
    expect(await limits.consume('login', 7)).toMatchObject({ remaining: 4 });
    expect(await limits.consume('login', '7')).toMatchObject({ remaining: 3 });
  });

  it('an operation without a rule name applies to all rules of the route', async () => {
    const options = { rules: { hourly: { window: '1h', limit: 9, algorithm: 'gcra' } } } as const;
    const { limits, login, route } = await start(FIVE, options);
    await login();
    const { decisions } = await limits.peek({ route }, IP, { cost: 0 });
    expect(decisions.map(({ rule, remaining }) => [rule, remaining])).toEqual([
      ['hourly', 8],
      ['default', 4],
    ]);
    expect(await limits.reset({ route, rule: 'hourly' }, IP)).toBe(true);
    expect(await limits.reset({ route, rule: 'hourly' }, IP)).toBe(false);
    expect(await limits.reset({ route }, IP)).toBe(true);
  });

  it('a counter whose limit depends on the request can be reset and blocked, but not consumed', async () => {
    const { limits, login, route } = await start({ ...FIVE, limit: () => 1 });
    expect([await login(), await login()]).toEqual([401, 429]);
    expect(await limits.reset({ route }, IP)).toBe(true);
    expect(await login()).toBe(401);
    await expect(limits.consume({ route }, IP)).rejects.toThrow(
      'rule "default" of LoginController.login: depends on the request: limit given as a function',
    );
  });
});

describe('a program that names a rule which is written in decorators only', () => {
  const TOTAL = { ...FIVE, name: 'total', scope: 'shared' } as const;

  @Controller()
  class Shop {
    @RateLimit(TOTAL)
    @Post('buy')
    @HttpCode(200)
    buy() {}

    @RateLimit(TOTAL)
    @Post('sell')
    @HttpCode(200)
    sell() {}
  }

  async function start(options: RateLimitModuleOptions = {}) {
    const { app, send } = await startApp(
      { imports: [RateLimitModule.forRoot(options)], controllers: [Shop] },
      { framework: 'express' },
    );
    const limits = app.get(RateLimitService);
    return { limits, post: async (path: string) => (await send({ method: 'POST', path })).status };
  }

  it('an error names the route of a rule that exists only in decorators', async () => {
    const { limits } = await start();
    await expect(limits.consume('total', IP)).rejects.toThrow(
      'rule "total": not in the module\'s `onDemand` or `rules`, but only in a decorator (Shop.buy and 1 more). ' +
        'Move it to `onDemand` and write @RateLimit("total"), or name a route: { route: [Shop, \'buy\'], rule: "total" }',
    );
  });

  it('the route of a shared rule selects the counter of all its routes', async () => {
    const { limits, post } = await start();
    const counter = { route: [Shop, 'buy'], rule: 'total' } as const;
    expect(await limits.consume(counter, '127.0.0.1', { cost: 4 })).toMatchObject({ remaining: 1 });
    expect([await post('/sell'), await post('/buy')]).toEqual([200, 429]);
  });

  it('an error lists the known names and the most similar one', async () => {
    const { limits } = await start({ onDemand: { mail: FIVE, login: FIVE } });
    await expect(limits.consume('logn', IP)).rejects.toThrow(
      'rule "logn": not in the module\'s `onDemand` or `rules`: did you mean "login"?; allowed: "mail", "login"',
    );
  });
});

describe('a program that names a missing rule, route or subject', () => {
  async function start(rule: RouteRule) {
    const LoginController = loginController(rule);
    const imports = [RateLimitModule.forRoot({})];
    const { app } = await startApp({ imports, controllers: [LoginController] }, { framework: 'express' });
    const limits = app.get(RateLimitService);
    return { limits, LoginController };
  }

  it('a reset of a missing route is an error', async () => {
    const { limits, LoginController } = await start(FIVE);
    const Other = class Other extends LoginController {};
    await expect(limits.reset('logn', IP)).rejects.toThrow(
      'rule "logn": not in the module\'s `onDemand` or `rules`; allowed: none, since there are none',
    );
    await expect(limits.reset({ route: [LoginController, 'logn'] }, IP)).rejects.toThrow(
      'route LoginController.logn: no handler of this application: did you mean "login"?; allowed: "login"',
    );
    await expect(limits.reset({ route: [Other, 'login'] }, IP)).rejects.toThrow(
      'route Other.login: no handler of this application',
    );
    await expect(limits.reset({ route: [LoginController, 'login'], rule: 'x' }, IP)).rejects.toThrow(
      'route LoginController.login.rule: got "x"; allowed: "default"',
    );
    await expect(limits.reset({ route: 'login' as never }, IP)).rejects.toThrow(
      'route: got "login"; allowed: a class and the name of its method',
    );
  });

  it.each<[string, RouteRule, unknown, string]>([
    ['a name where an IP counts', FIVE, 'ann', 'got "ann"; allowed: an IP address'],
    ['nothing where a user counts', { ...FIVE, by: 'user' }, '', 'got ""; allowed: the id of a user'],
    [
      'a tenant where everyone counts',
      { ...FIVE, by: 'everyone' },
      'acme',
      'got "acme"; allowed: "everyone", since the rule counts all together',
    ],
    [
      'one part of a tuple',
      { ...FIVE, by: ['ip', 'user'] },
      IP,
      `got "${IP}"; allowed: a list of an IP address, the id of a user`,
    ],
    ['a list of one where an IP counts', FIVE, [IP], `got ["${IP}"]; allowed: an IP address`],
    ['nothing at all', FIVE, undefined, 'got undefined; allowed: an IP address'],
  ])('a program gets an error for %s', async (_title, rule, subject, message) => {
    const { limits, LoginController } = await start(rule);
    const reset = limits.reset({ route: [LoginController, 'login'] }, subject as string);
    await expect(reset).rejects.toThrow(`subject of rule "default" of LoginController.login: ${message}`);
  });

  it('an error asks for the rule when rules of a route have different subjects', async () => {
    @RateLimit({ ...FIVE, name: 'each', by: 'user' })
    @RateLimit({ ...FIVE, name: 'all', by: 'everyone' })
    @Controller()
    class Both {
      @Post() post() {}
    }
    const metadata = { imports: [RateLimitModule.forRoot({})], controllers: [Both] };
    const { app } = await startApp(metadata, { framework: 'express' });
    const limits = app.get(RateLimitService);
    await expect(limits.reset({ route: [Both, 'post'] }, 'ann')).rejects.toThrow(
      'route Both.post: its rules count by different subjects; name one as `rule`: "each", "all"',
    );
    expect(await limits.reset({ route: [Both, 'post'], rule: 'each' }, 'ann')).toBe(false);
  });
});
