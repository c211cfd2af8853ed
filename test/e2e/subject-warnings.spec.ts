import {
  Controller,
  Get,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitModule,
  Warnings,
  type RouteRule,
  type WarningsOption,
} from '../../lib/index.js';
import { Routes as KnownRoutes } from '../../lib/nest/routes.js';
import { closeApps, FRAMEWORKS, startApp, type AppSetup, type TestApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';

const LIMIT = { window: '1m', limit: 100_000, algorithm: 'fixed-window' } as const;

/** Stands for an authentication: the user is whom a header names. */
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

/** An application with one route, limited by these rules. */
async function start(rules: RouteRule[], setup: AppSetup, warnings?: WarningsOption): Promise<TestApp> {
  @Controller()
  class Routes {
    @UseGuards(LateGuard)
    @Get()
    get() {}
  }
  for (const rule of rules) RateLimit({ ...LIMIT, ...rule })(Routes);
  const limits = RateLimitModule.forRoot({ warnings });
  const providers = [{ provide: APP_GUARD, useClass: EarlyGuard }];
  return startApp({ imports: [limits], controllers: [Routes], providers }, setup);
}

const codesOf = ({ app }: TestApp) => [...app.get(Warnings).active.keys()];

const linesWith = ({ logs }: TestApp, code: string) =>
  logs.ours().filter(({ message }) => message.includes(`(${code}, see docs/warnings.md)`));

/** Whether any rule of the application still looks at requests. */
function isWatching({ app }: TestApp): boolean {
  return [...app.get(KnownRoutes).all()].flat().some(({ watch }) => watch !== undefined);
}

afterEach(closeApps);

describe.each(FRAMEWORKS)('an application on %s is warned once', (framework) => {
  const forwarded = { 'x-forwarded-for': '203.0.113.1' };

  it.each([forwarded, { forwarded: 'for=203.0.113.1' }])(
    'that clients share the counter of a proxy, when a request has %p and no proxy is trusted',
    async (headers: Record<string, string>) => {
      const app = await start([{}], { framework });
      await app.get('/');
      expect(codesOf(app)).toEqual([]);
      await app.get('/', headers);
      await app.get('/', headers);
      expect(linesWith(app, 'RL_FORWARDED_UNTRUSTED')).toHaveLength(1);
      expect(isWatching(app)).toBe(false);
    },
  );

  it('that the list of proxies is wrong, when none of 100 forwarded requests came from one', async () => {
    const app = await start([{}], { framework, trustProxy: '10.0.0.0/8' });
    for (let nth = 1; nth < 100; nth += 1) await app.get('/', forwarded);
    expect(codesOf(app)).toEqual([]);
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual(['RL_FORWARDED_UNTRUSTED']);
  });

  it.each(['127.0.0.0/8', ['loopback']])('of nothing when the proxy is trusted by %p', async (trustProxy) => {
    const app = await start([{}], { framework, trustProxy });
    await app.get('/');
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual([]);
    expect(isWatching(app)).toBe(false);
  });

  it.each<[string, NonNullable<AppSetup['trustProxy']>]>([
    ['true', true],
    ['a function that trusts every address', () => true],
  ])('at start that a client chooses its IP, when trust proxy is %s', async (_title, trustProxy) => {
    const app = await start([{}], { framework, trustProxy });
    expect(linesWith(app, 'RL_TRUST_PROXY_ALL')).toHaveLength(1);
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual(['RL_TRUST_PROXY_ALL']);
  });

  it('that a client chooses its IP, when a list of proxies has every address', async () => {
    const app = await start([{}], { framework, trustProxy: ['0.0.0.0/1', '128.0.0.0/1'] });
    await app.get('/');
    expect(codesOf(app)).toEqual(['RL_TRUST_PROXY_ALL']);
  });

  it('of no proxy when no rule counts by IP', async () => {
    const app = await start([{ by: 'everyone' }], { framework, trustProxy: true });
    await app.get('/', forwarded);
    expect(codesOf(app)).toEqual([]);
  });

  it('that users are counted by IP, when `request.user` is set after the guard', async () => {
    const app = await start([{ by: 'user' }], { framework });
    await app.get('/');
    expect(codesOf(app)).toEqual([]);
    await app.get('/', { 'x-user': 'ann' });
    await until(() => codesOf(app).length > 0, 'the warning');
    await app.get('/', { 'x-user': 'ann' });
    expect(linesWith(app, 'RL_USER_AFTER_GUARD')).toHaveLength(1);
  });

  it('of nothing when one user was seen in time', async () => {
    const app = await start([{ by: 'user' }], { framework });
    await app.get('/', { 'x-early': 'bob' });
    await app.get('/', { 'x-user': 'ann' });
    await app.get('/');
    expect(codesOf(app)).toEqual([]);
  });

  it('that a header never comes, after 1,000 requests without it', async () => {
    const app = await start([{}, { name: 'tenant', by: 'x-tenant' }], { framework });
    for (let nth = 1; nth < 1000; nth += 1) await app.get('/');
    expect(codesOf(app)).toEqual([]);
    await app.get('/');
    expect(linesWith(app, 'RL_HEADER_NEVER_SEEN')).toHaveLength(1);
  });

  it('of no header that came once', async () => {
    const app = await start([{}, { name: 'tenant', by: 'x-tenant' }], { framework, trustProxy: 'loopback' });
    await app.get('/', { ...forwarded, 'x-tenant': 'acme' });
    expect(isWatching(app)).toBe(false);
  });

  it('of nothing that is turned off, and does not look for it', async () => {
    const app = await start([{ by: ['user', 'x-tenant'] }], { framework, trustProxy: true }, false);
    await app.get('/', { ...forwarded, 'x-user': 'ann' });
    expect(codesOf(app)).toEqual([]);
    expect(app.logs.ours().filter(({ level }) => level === 'warn')).toEqual([]);
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
    ['an API key and a rule that is only observed', [KEY, { ...IP, mode: 'observe' }], ['RL_API_KEY_ALONE']],
    ['an API key that is only observed', [{ ...KEY, mode: 'observe' }], []],
    [
      'an API key and users, where others pass',
      [KEY, { name: 'user', by: 'user', onMissingSubject: 'skip' }],
      ['RL_API_KEY_ALONE'],
    ],
    ['an API key and the IP', [KEY, IP], []],
    ['an API key and users', [KEY, { name: 'user', by: 'user' }], []],
    ['an API key and everyone', [KEY, { name: 'all', by: 'everyone' }], []],
    ['the IP', [IP], []],
  ])('is named at start: %s', async (_title, rules, codes) => {
    expect(codesOf(await start(rules, { framework: 'express' }))).toEqual(codes);
  });

  it('lets made-up keys through without bound, and not with a rule by IP beside it', async () => {
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
