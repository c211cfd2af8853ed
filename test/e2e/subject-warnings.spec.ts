import {
  Controller,
  Get,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule, Warnings, type RouteRule } from '../../lib/index.js';
import type { WarningsOption } from '../../lib/nest/warning-codes.js';
import { Routes as KnownRoutes } from '../../lib/nest/request/routes.js';
import { closeApps, FRAMEWORKS, startApp, type AppSetup, type TestApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const LIMIT = { window: '1m', limit: 100_000, algorithm: 'fixed-window' } as const;

/** Sets the user that a header names, like an authentication. */
abstract class HeaderGuard implements CanActivate {
  protected abstract readonly header: string;

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: unknown; headers: Record<string, string> }>();
    const id = request.headers[this.header];
    if (id !== undefined) request.user = { id };
    return true;
  }
}

/** Runs as a global guard, before the rate limit guard. */
@Injectable()
class EarlyGuard extends HeaderGuard {
  protected readonly header = 'x-early';
}

/** Runs as a guard of the route, after the rate limit guard. */
@Injectable()
class LateGuard extends HeaderGuard {
  protected readonly header = 'x-user';
}

/** Starts an application with one route that has these rules. */
async function start(rules: RouteRule[], setup: AppSetup, warnings?: WarningsOption): Promise<TestApp> {
  @Controller()
  class Routes {
    @UseGuards(LateGuard)
    @Get()
    get() {}
  }
  for (const rule of rules) RateLimit({ ...LIMIT, ...rule } as RouteRule)(Routes);
  const limits = RateLimitModule.forRoot({ warnings });
  const providers = [{ provide: APP_GUARD, useClass: EarlyGuard }];
  return startApp({ imports: [limits], controllers: [Routes], providers }, setup);
}

const codesOf = ({ app }: TestApp) => [...app.get(Warnings).active.keys()];

const linesWith = ({ logs }: TestApp, code: string) =>
  logs.ours().filter(({ message }) => message.includes(`(${code}, see docs/warnings.md)`));

/** Returns the warnings about a user that is set after the guard, in the second and third of three requests. */
async function linesOfLateUser(rule: RouteRule, setup: AppSetup): Promise<string[]> {
  const app = await start([rule], setup);
  await app.get('/');
  expect(codesOf(app)).toEqual([]);
  await app.get('/', { 'x-user': 'ann' });
  await until(() => codesOf(app).length > 0, 'the warning');
  await app.get('/', { 'x-user': 'ann' });
  return linesWith(app, 'RL_USER_AFTER_GUARD').map(({ message }) => message);
}

/** Whether any rule of the application still checks requests. */
function isWatching({ app }: TestApp): boolean {
  return [...app.get(KnownRoutes).all()].flat().some(({ checks }) => checks.size > 0);
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('an application on %s is warned once', (framework) => {
  const forwarded = { 'x-forwarded-for': '203.0.113.1' };

  it.each([
    [forwarded, /^A request has X-Forwarded-For, but the framework trusts no proxy/],
    [{ forwarded: 'for=203.0.113.1' }, /^A request has Forwarded.* Let the proxy send X-Forwarded-For/],
  ])(
    "a warning reports that clients share a proxy's counter when a request has %p and no proxy is trusted",
    async (headers: Record<string, string>, message) => {
      const app = await start([{}], { framework });
      await app.get('/');
      expect(codesOf(app)).toEqual([]);
      await app.get('/', headers);
      await app.get('/', headers);
      const lines = linesWith(app, 'RL_FORWARDED_UNTRUSTED');
      expect(lines).toEqual([{ level: 'warn', message: expect.stringMatching(message) }]);
      expect(isWatching(app)).toBe(false);
    },
  );

  it('a warning reports a wrong list of proxies after 100 forwarded requests from none of them', async () => {
    const app = await start([{}], { framework, trustProxy: '10.0.0.0/8' });
    for (let nth = 1; nth < 100; nth += 1) await app.get('/', forwarded);
    expect(codesOf(app)).toEqual([]);
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual(['RL_FORWARDED_UNTRUSTED']);
  });

  it.each(['127.0.0.0/8', ['loopback']])(
    'no warning is logged when the proxy is trusted by %p',
    async (trustProxy) => {
      const app = await start([{}], { framework, trustProxy });
      await app.get('/');
      await app.get('/', forwarded);
      expect(codesOf(app)).toEqual([]);
      expect(isWatching(app)).toBe(false);
    },
  );

  it.each<[string, NonNullable<AppSetup['trustProxy']>]>([
    ['true', true],
    ['a function that trusts every address', () => true],
  ])(
    'a warning at start reports that clients choose their IP with trust proxy %s',
    async (_title, trustProxy) => {
      const app = await start([{}], { framework, trustProxy });
      expect(linesWith(app, 'RL_TRUST_PROXY_ALL')).toHaveLength(1);
      await app.get('/', forwarded);
      expect(codesOf(app)).toEqual(['RL_TRUST_PROXY_ALL']);
    },
  );

  it('a warning reports that clients choose their IP when a list of proxies has every address', async () => {
    const app = await start([{}], { framework, trustProxy: ['0.0.0.0/1', '128.0.0.0/1'] });
    await app.get('/');
    expect(codesOf(app)).toEqual(['RL_TRUST_PROXY_ALL']);
  });

  it('no warning about proxies is logged when no rule counts by IP', async () => {
    const app = await start([{ by: 'everyone' }], { framework, trustProxy: true });
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual([]);
  });

  it('a warning reports users counted by IP when `request.user` is set after the guard', async () => {
    const app = await start([{ by: 'user' }], { framework });
    await app.get('/');
    expect(codesOf(app)).toEqual([]);
    await app.get('/', { 'x-user': 'ann' });
    await until(() => codesOf(app).length > 0, 'the warning');
    await app.get('/', { 'x-user': 'ann' });
    expect(linesWith(app, 'RL_USER_AFTER_GUARD')).toHaveLength(1);
  });

  it('no warning is logged when one user was found in time', async () => {
    const app = await start([{ by: 'user' }], { framework });
    await app.get('/', { 'x-early': 'bob' });
    await app.get('/', { 'x-user': 'ann' });
    await app.get('/');
    expect(codesOf(app)).toEqual([]);
  });

  interface Request {
    readonly ip: string;
    readonly headers: Readonly<Record<string, string>>;
    user?: { readonly id?: string };
  }
  const by = (find: (request: Request) => unknown) => (context: ExecutionContext) =>
    find(context.switchToHttp().getRequest<Request>()) as string | undefined;

  it.each<[string, (request: Request) => unknown]>([
    ['the user', ({ user }) => user?.id],
    ['the user, or the IP', ({ user, ip }) => user?.id ?? ip],
    ['the user asynchronously', async ({ user }) => user?.id],
  ])(
    'a warning reports that users are not distinguished when a function reads %s, which is set after the guard',
    async (_t, find) => {
      const lines = await linesOfLateUser({ by: by(find) }, { framework });
      expect(lines).toEqual([
        expect.stringMatching(/^rule "default" of .* by a function, which found no `request\.user`/),
      ]);
    },
  );

  it.each<[string, Partial<RouteRule>]>([
    ['limit', { limit: by(({ user }) => (user ? 9 : 3)) as never }],
    ['window', { window: by(({ user }) => (user ? '1m' : '1h')) as never }],
    ['cost', { cost: by(({ user }) => (user ? 1 : 2)) as never }],
    ['plan', { plans: { free: { limit: 9 } }, plan: by(({ user }) => user && 'free') }],
    ['skipIf', { skipIf: by(({ user }) => user?.id === 'root') as never }],
  ])(
    'a warning names the function of `%s` that reads the user, which is set after the guard',
    async (field, rule) => {
      const lines = await linesOfLateUser({ by: 'everyone', ...rule } as RouteRule, { framework });
      const late = 'found no `request.user`, but it was set after the rate limit guard';
      expect(lines).toEqual([expect.stringContaining(`.${field}: the function ${late}`)]);
    },
  );

  it('a warning is logged for each of two rules whose functions read the user too early', async () => {
    const rules = ['one', 'two'].map((name) => ({ name, by: by(({ user }) => user?.id) }));
    const app = await start(rules, { framework });
    for (let nth = 1; nth <= 3; nth += 1) await app.get('/', { 'x-user': 'ann' });
    await until(() => linesWith(app, 'RL_USER_AFTER_GUARD').length === 2, 'both warnings');
  });

  it.each<[string, (request: Request) => unknown, Record<string, string>]>([
    ['it reads a header only', ({ headers }) => headers['x-tenant'], {}],
    ['one user was there in time', ({ user }) => user?.id, { 'x-early': 'bob' }],
    ['it authenticates the client itself', (request) => (request.user ??= { id: 'ann' }).id, {}],
  ])('no warning is logged about a function when %s', async (_title, find, headers) => {
    const app = await start([{ by: by(find) }], { framework });
    await app.get('/', headers);
    for (let nth = 1; nth <= 3; nth += 1) await app.get('/', { 'x-user': 'ann' });
    expect(codesOf(app)).toEqual([]);
  });

  it('a warning reports that clients share a counter when none of 1,000 requests has an IP in its header', async () => {
    const app = await start([{ name: 'edge', by: { ip: 'x-client' } }], { framework });
    for (let nth = 1; nth < 1000; nth += 1) await app.get('/', { 'x-client': 'unknown' });
    expect(codesOf(app)).toEqual([]);
    await app.get('/');
    expect(linesWith(app, 'RL_HEADER_NEVER_SEEN')).toEqual([
      { level: 'warn', message: expect.stringContaining('counts by the IP in the header "x-client"') },
    ]);
  });

  it('a warning reports a header that is missing from the first 1,000 requests', async () => {
    const rules = ['tenant', 'also'].map((name) => ({ name, by: 'x-tenant' as const }));
    const app = await start([{}, ...rules], { framework });
    for (let nth = 1; nth < 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual([]);
    await app.get('/');
    expect(linesWith(app, 'RL_HEADER_NEVER_SEEN')).toHaveLength(1);
  });

  it('a warning names a header whose values are addresses, and the fix', async () => {
    const app = await start([{}, { name: 'edge', by: 'cf-connecting-ip' }], {
      framework,
      trustProxy: 'loopback',
    });
    const send = (address: string) => app.get('/', { ...forwarded, 'cf-connecting-ip': address });
    for (const address of ['2001:db8::1', '203.0.113.1']) await send(address);
    expect(codesOf(app)).toEqual([]);
    for (let nth = 1; nth <= 3; nth += 1) await send(`2001:db8::${nth}`);
    expect(linesWith(app, 'RL_HEADER_IS_ADDRESS')).toEqual([
      { level: 'warn', message: expect.stringContaining("write by: { ip: 'cf-connecting-ip' }") },
    ]);
    expect(isWatching(app)).toBe(false);
  });

  it('a warning of the header that proxies append to names the fix that the start accepts', async () => {
    const app = await start([{ name: 'edge', by: 'x-forwarded-for' }], { framework, trustProxy: 'loopback' });
    for (let nth = 1; nth <= 3; nth += 1) await app.get('/', { 'x-forwarded-for': `203.0.113.${nth}` });
    expect(linesWith(app, 'RL_HEADER_IS_ADDRESS')).toEqual([
      { level: 'warn', message: expect.stringContaining('write "ip", and name the trusted proxies') },
    ]);
  });

  it.each<[string, NonNullable<RouteRule['by']>, string[]]>([
    [
      'the rule reads its address',
      { ip: 'cf-connecting-ip' },
      ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8::4'],
    ],
    [
      'one of its first values is none',
      'cf-connecting-ip',
      ['2001:db8::1', 'acme', '2001:db8::2', '2001:db8::3'],
    ],
  ])('no warning is logged about addresses in a header when %s', async (_title, by, values) => {
    const app = await start([{ name: 'edge', by }], { framework });
    for (const value of values) await app.get('/', { 'cf-connecting-ip': value });
    expect(codesOf(app)).toEqual(
      typeof by === 'string' ? expect.not.arrayContaining(['RL_HEADER_IS_ADDRESS']) : [],
    );
  });

  it('a warning reports that none of the first 1,000 requests had a user', async () => {
    const rules = ['one', 'two'].map((name) => ({ name, by: 'user' as const }));
    const app = await start(rules, { framework });
    for (let nth = 1; nth <= 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual([]);
    await app.get('/');
    expect(linesWith(app, 'RL_USER_NEVER_SEEN')).toHaveLength(1);
  });

  it.each([
    ['a function', by(({ headers }) => headers['x-tenant'])],
    ['an asynchronous function', by(async ({ headers }) => headers['x-tenant'])],
    ['a list with a function', ['ip', by(({ headers }) => headers['x-tenant'])]],
  ] as [string, NonNullable<RouteRule['by']>][])(
    'a warning reports %s that finds no subject of the first 1,000 requests',
    async (_title, tenant) => {
      const rules = ['one', 'two'].map((name) => ({ name, by: tenant }));
      const app = await start(rules, { framework });
      for (let nth = 1; nth < 1000; nth += 1) await app.get('/');
      expect(codesOf(app)).toEqual([]);
      await app.get('/');
      expect(linesWith(app, 'RL_SUBJECT_NEVER_FOUND')).toEqual([
        { level: 'warn', message: expect.stringContaining('Such a request counts by its IP.') },
      ]);
    },
  );

  it('no warning is logged about a function in a list whose other part no request has', async () => {
    const of = (find: (request: Request) => unknown) => ({
      by: ['x-tenant', by(find)] as NonNullable<RouteRule['by']>,
    });
    const rules = [
      { name: 'one', ...of(({ ip }) => ip) },
      { name: 'two', ...of(async ({ ip }) => ip) },
    ];
    const app = await start(rules, { framework });
    for (let nth = 1; nth <= 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual(['RL_HEADER_ALONE', 'RL_HEADER_NEVER_SEEN']);
  });

  it('a warning reports the second function in a list that never returns a subject', async () => {
    const list = [by(({ ip }) => ip), by(async () => null)] as NonNullable<RouteRule['by']>;
    const app = await start([{ name: 'one', by: list }], { framework });
    for (let nth = 1; nth <= 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual(['RL_SUBJECT_NEVER_FOUND']);
  });

  it('no warning is logged about a function that found one subject under another rule', async () => {
    const tenant = by(({ headers }) => headers['x-tenant']);
    const app = await start(
      [
        { name: 'one', by: tenant },
        { name: 'two', by: tenant },
      ],
      { framework },
    );
    await app.get('/', { 'x-tenant': 'acme' });
    for (let nth = 1; nth <= 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual([]);
  });

  it('no warning is logged about a header that occurred once', async () => {
    const app = await start([{}, { name: 'tenant', by: 'x-tenant' }], { framework, trustProxy: 'loopback' });
    await app.get('/', { ...forwarded, 'x-tenant': 'acme' });
    expect(isWatching(app)).toBe(false);
  });

  it('a warning that is turned off is neither logged nor checked', async () => {
    const app = await start(
      [{ by: ['user', 'x-tenant', by(({ user }) => user?.id)] }],
      { framework, trustProxy: true },
      false,
    );
    await app.get('/', { ...forwarded, 'x-user': 'ann' });
    expect(codesOf(app)).toEqual([]);
    expect(app.logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
    expect(isWatching(app)).toBe(false);
  });
});

describe('an application that limits the messages of sockets', () => {
  const PROXY = '10.0.0.1';
  const forwarded = { 'x-forwarded-for': '203.0.113.1' };

  async function startGateway(rule: RouteRule) {
    @Controller()
    class Gateway {
      @Get()
      get() {}

      message() {}
    }
    RateLimit({ ...LIMIT, ...rule } as RouteRule)(Gateway);
    const app = await startApp(
      { imports: [RateLimitModule.forRoot({})], controllers: [Gateway] },
      { framework: 'express' },
    );
    const receive = (type: 'ws' | 'graphql', ...args: unknown[]) => {
      const context = new ExecutionContextHost(args, Gateway, Gateway.prototype.message);
      context.setType(type);
      return app.app.get(RateLimitGuard).canActivate(context);
    };
    return { app, receive };
  }

  /** Returns a Socket.IO client that is connected through a proxy. */
  const socket = (headers: Record<string, string>, address = PROXY) => ({
    handshake: { address, headers },
    conn: { remoteAddress: PROXY },
  });

  const subscriber = (headers: Record<string, string>) => {
    const request = { socket: { remoteAddress: PROXY }, headers };
    return [{}, {}, { req: { extra: { request } } }, {}];
  };

  it.each<[string, 'ws' | 'graphql', (headers: Record<string, string>) => unknown[]]>([
    ['a client of Socket.IO', 'ws', (headers) => [socket(headers)]],
    ['a subscription by graphql-ws', 'graphql', subscriber],
  ])(
    "a warning reports once that socket clients share the proxy's IP when %s has X-Forwarded-For",
    async (_title, type, argumentsOf) => {
      const { app, receive } = await startGateway({});
      expect(await receive(type, ...argumentsOf({}))).toBe(true);
      expect(codesOf(app)).toEqual([]);
      for (let nth = 1; nth <= 2; nth++) await receive(type, ...argumentsOf(forwarded));
      const lines = linesWith(app, 'RL_FORWARDED_UNTRUSTED');
      expect(lines.map(({ message }) => message)).toEqual([
        expect.stringMatching(/^A request has X-Forwarded-For, but the framework trusts no proxy/),
      ]);
    },
  );

  it.each<[string, RouteRule, object]>([
    ['it counts by something else', { by: 'everyone' }, socket(forwarded)],
    ['it has found the client in the handshake', {}, socket(forwarded, '203.0.113.1')],
  ])('no warning is logged about sockets when %s', async (_title, rule, client) => {
    const { app, receive } = await startGateway(rule);
    await receive('ws', client);
    expect(codesOf(app)).toEqual([]);
  });

  it('one warning is logged for sockets and HTTP requests, which have the same proxies', async () => {
    const { app, receive } = await startGateway({});
    for (let nth = 1; nth <= 2; nth++) {
      await receive('ws', socket(forwarded));
      await app.get('/', forwarded);
    }
    expect(linesWith(app, 'RL_FORWARDED_UNTRUSTED')).toHaveLength(1);
    expect(isWatching(app)).toBe(false);
  });
});

describe('a route on which clients choose their own subject', () => {
  const IP: RouteRule = { name: 'address', by: 'ip' };
  const KEY: RouteRule = { name: 'key', by: 'api-key' };

  it.each<[string, RouteRule[], string[]]>([
    ['an API key alone', [KEY], ['RL_API_KEY_ALONE']],
    ['an API key in a list with the IP', [{ ...KEY, by: ['ip', 'api-key'] }], ['RL_API_KEY_ALONE']],
    ['a header alone', [{ name: 'tenant', by: 'x-tenant' }], ['RL_HEADER_ALONE']],
    ['authorization alone', [{ name: 'token', by: 'authorization' }], ['RL_HEADER_ALONE']],
    ['an API key and a rule that is only shadow', [KEY, { ...IP, mode: 'shadow' }], ['RL_API_KEY_ALONE']],
    ['an API key that is only shadow', [{ ...KEY, mode: 'shadow' }], []],
    [
      'an API key and users, where others pass',
      [KEY, { name: 'user', by: 'user', onMissingSubject: 'skip' }],
      ['RL_API_KEY_ALONE'],
    ],
    ['an API key and the IP', [KEY, IP], []],
    ['an API key and users', [KEY, { name: 'user', by: 'user' }], []],
    ['an API key and everyone', [KEY, { name: 'all', by: 'everyone' }], []],
    ['the IP', [IP], []],
  ])(
    'a warning at start names a route whose clients choose their subject: %s',
    async (_title, rules, codes) => {
      expect(codesOf(await start(rules, { framework: 'express' }))).toEqual(codes);
    },
  );

  it('invented keys are limited only with an additional rule by IP', async () => {
    const alone = await start([{ ...KEY, limit: 3 }], { framework: 'express' });
    const paired = await start(
      [
        { ...KEY, limit: 3 },
        { ...IP, limit: 10 },
      ],
      { framework: 'express' },
    );
    const allowed = { alone: 0, paired: 0 };
    for (let nth = 0; nth < 30; nth += 1) {
      const headers = { 'x-api-key': `made-up-${nth}` };
      if ((await alone.get('/', headers)).status === 200) allowed.alone += 1;
      if ((await paired.get('/', headers)).status === 200) allowed.paired += 1;
    }
    expect(allowed).toEqual({ alone: 30, paired: 10 });
  });
});
