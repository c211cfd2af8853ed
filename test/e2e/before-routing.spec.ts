import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { connect as connectHttp2 } from 'node:http2';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Module,
  Post,
  VersioningType,
  type DynamicModule,
  type INestApplication,
  type ModuleMetadata,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  limitBeforeRouting,
  RateLimit,
  RateLimitEvents,
  RateLimitHealth,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import type { Snapshot } from '../../lib/dashboard/snapshot.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { limitHeaders, send, type Answer } from '../support/http-client.js';
import { LogLines } from '../support/log-lines.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { closeApps, FRAMEWORKS, startApp, type Framework, type TestApp } from '../support/nest-app.js';

type Rule = NonNullable<RateLimitModuleOptions['onDemand']>[string];

const FLOOD: Rule = { window: '1m', limit: 3, algorithm: 'fixed-window' };
const PREFLIGHT = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };

@Controller()
class Orders {
  static bodies = 0;

  @Get('orders')
  list() {
    return 'orders';
  }

  @Get('health')
  health() {
    return 'up';
  }

  @HttpCode(200)
  @Post('orders')
  create(@Body() _body: unknown) {
    Orders.bodies += 1;
    return 'created';
  }

  @RateLimit('flood')
  @Get('limited')
  limited() {}

  @RateLimit('flood')
  @RateLimit('login', { limit: 2 })
  @Get('login')
  login() {}
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await closeApps();
});

interface Start {
  readonly rule?: Rule;
  readonly options?: RateLimitModuleOptions;
  readonly exclude?: readonly string[];
  readonly controllers?: ModuleMetadata['controllers'];
  readonly imports?: readonly DynamicModule[];
  readonly before?: (app: INestApplication) => void;
  readonly after?: (app: INestApplication) => void;
}

function start(framework: Framework, { rule = FLOOD, ...given }: Start = {}): Promise<TestApp> {
  const { options, exclude, controllers = [Orders], imports: others = [], before, after } = given;
  const onDemand = { flood: rule, login: { ...FLOOD, limit: 9 } };
  const imports = [RateLimitModule.forRoot({ onDemand, ...options }), ...others];
  const configure = (app: INestApplication): void => {
    before?.(app);
    limitBeforeRouting(app, 'flood', exclude ? { exclude } : {});
    after?.(app);
  };
  return startApp({ imports, controllers }, { framework, trustProxy: true, configure });
}

async function statuses(count: number, ask: () => Promise<Answer>): Promise<number[]> {
  const all: number[] = [];
  for (let nth = 0; nth < count; nth++) all.push((await ask()).status);
  return all;
}

describe.each(FRAMEWORKS)('limitBeforeRouting on %s', (framework) => {
  it('limits unknown paths, broken bodies and HEAD requests, which no guard sees, by one counter', async () => {
    const { get, send: ask } = await start(framework);
    const broken = { method: 'POST', path: '/orders', headers: { 'content-type': 'application/json' } };
    expect((await get('/unknown')).status).toBe(404);
    expect((await ask({ ...broken, body: '{' })).status).toBe(400);
    expect((await ask({ method: 'HEAD', path: '/orders' })).status).toBe(200);
    for (const question of [
      { path: '/unknown' },
      { ...broken, body: '{' },
      { method: 'HEAD', path: '/orders' },
    ]) {
      const answer = await ask(question);
      expect(answer.status).toBe(429);
      expect(limitHeaders(answer)).toMatchObject({
        'ratelimit-policy': '"flood";q=3;w=60',
        'retry-after': '60',
      });
    }
    expect(JSON.parse((await get('/orders')).body)).toMatchObject({
      status: 429,
      'violated-policies': ['flood'],
    });
  });

  it('limits 2,000 broken bodies, and parses none of them after the limit is reached', async () => {
    const { port } = await start(framework, { rule: { ...FLOOD, limit: 100, window: '1h' } });
    const headers = { 'content-type': 'application/json' };
    const counts = new Map<number, number>();
    for (let batch = 0; batch < 40; batch++) {
      const asked = Array.from({ length: 50 }, () =>
        send(port, { method: 'POST', path: '/orders', headers, body: '{"a":' }),
      );
      for (const { status } of await Promise.all(asked)) counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ 400: 100, 429: 1900 });
  });

  it('counts by the address, a header, everyone, or a function of the request', async () => {
    const bys = [
      ['x-tenant', { 'x-tenant': 'a' }, { 'x-tenant': 'b' }],
      ['everyone', {}, undefined],
      [(context: never) => tenantOf(context), { 'x-who': 'a' }, { 'x-who': 'b' }],
      [(context: never) => Promise.resolve(tenantOf(context)), { 'x-who': 'a' }, { 'x-who': 'b' }],
      ['ip', { 'x-forwarded-for': '10.0.0.1' }, { 'x-forwarded-for': '10.0.0.2' }],
    ] as const;
    for (const [by, one, other] of bys) {
      const { get, close } = await start(framework, { rule: { ...FLOOD, limit: 1, by } as Rule });
      expect(await statuses(2, () => get('/x', one))).toEqual([404, 429]);
      if (other) expect((await get('/x', other)).status).toBe(404);
      await close();
    }
  });

  it('charges a request once if its handler has the rule as well', async () => {
    const { get } = await start(framework);
    expect(await statuses(4, () => get('/limited'))).toEqual([200, 200, 200, 429]);
  });

  it('merges its headers with those of the rules of a handler, the strictest first', async () => {
    const { get } = await start(framework);
    expect(limitHeaders(await get('/login'))).toEqual({
      'ratelimit-policy': '"login";q=2;w=60, "flood";q=3;w=60',
      ratelimit: '"login";r=1;t=30, "flood";r=2;t=40',
    });
    await get('/login');
    const denied = await get('/login');
    expect(denied.status).toBe(429);
    expect(limitHeaders(denied)).toMatchObject({
      ratelimit: '"login";r=0;t=60, "flood";r=0',
      'retry-after': '60',
    });
  });

  it('excludes exactly the given paths, whatever their query is, and none that is not normalized', async () => {
    const { get, port } = await start(framework, { exclude: ['/health'], rule: { ...FLOOD, limit: 1 } });
    expect(await statuses(3, () => get('/health?x=/y'))).toEqual([200, 200, 200]);
    expect((await get('/health')).headers['ratelimit']).toBeUndefined();
    await get('/orders');
    const tricks = [
      '//health',
      '/health/',
      '/%68ealth',
      '/Health',
      '/health/../health',
      '/health;x',
      '/./health',
    ];
    const more = ['/health%3Fx', '/health#x', `http://127.0.0.1:${port}/health`, '/healthy', '/health/x'];
    for (const path of [...tricks, ...more]) {
      const status = (await get(path)).status;
      expect([path, status]).toEqual([path, 429]);
    }
  });

  it('does not count preflights, and counts every request that only resembles one', async () => {
    const { send: ask } = await start(framework, {
      rule: { ...FLOOD, limit: 1 },
      before: (app) => app.enableCors(),
    });
    const preflight = { method: 'OPTIONS', path: '/orders', headers: PREFLIGHT };
    expect(await statuses(3, () => ask(preflight))).toEqual([204, 204, 204]);
    expect((await ask({ path: '/orders' })).status).toBe(200);
    expect((await ask({ path: '/orders', headers: PREFLIGHT })).status).toBe(429);
  });

  it('counts OPTIONS without the headers of a preflight, and one with a body', async () => {
    const { send: ask } = await start(framework, { rule: { ...FLOOD, limit: 1 } });
    await ask({ path: '/orders' });
    const { origin } = PREFLIGHT;
    const json = { ...PREFLIGHT, 'content-type': 'application/json' };
    expect((await ask({ method: 'OPTIONS', path: '/x', headers: PREFLIGHT })).status).toBe(404);
    expect((await ask({ method: 'OPTIONS', path: '/x', headers: { origin } })).status).toBe(429);
    const empty = { origin: '', 'access-control-request-method': '' };
    expect((await ask({ method: 'OPTIONS', path: '/x', headers: empty })).status).toBe(429);
    expect((await ask({ method: 'OPTIONS', path: '/x' })).status).toBe(429);
    expect(
      (await ask({ method: 'OPTIONS', path: '/x', headers: { ...json, 'content-length': '1' }, body: '{' }))
        .status,
    ).toBe(429);
    const chunked = { ...json, 'transfer-encoding': 'chunked' };
    expect((await ask({ method: 'OPTIONS', path: '/x', headers: chunked, body: '{' })).status).toBe(429);
  });

  it('a denial after enableCors() has the headers of CORS', async () => {
    const { get } = await start(framework, {
      rule: { ...FLOOD, limit: 0 },
      before: (app) => app.enableCors(),
    });
    const { status, headers } = await get('/orders', { origin: PREFLIGHT.origin });
    expect([status, headers['access-control-allow-origin']]).toEqual([429, '*']);
  });

  it('warns once if CORS exposes no header of rate limits', async () => {
    const { get, logs } = await start(framework, { before: (app) => app.enableCors() });
    await get('/orders', { origin: PREFLIGHT.origin });
    await get('/orders', { origin: PREFLIGHT.origin });
    const codes = logs.ours().filter(({ message }) => message.includes('RL_HEADERS_UNEXPOSED'));
    expect(codes).toHaveLength(1);
  });

  it('does not warn if CORS exposes them, or does not apply', async () => {
    const exposed = (app: INestApplication): void =>
      app.enableCors({ exposedHeaders: ['RateLimit', 'Retry-After'] });
    for (const before of [exposed, () => undefined]) {
      const { get, logs } = await start(framework, { before });
      await get('/orders', { origin: PREFLIGHT.origin });
      expect(logs.ours().filter(({ message }) => message.includes('CORS'))).toEqual([]);
    }
  });

  it('applies allow lists, overrides, events, the body of a 429, and blocks of programs', async () => {
    const events: unknown[] = [];
    const { get, app } = await start(framework, {
      rule: { ...FLOOD, allowList: ['10.0.0.9'], block: 'manual' },
      options: { overrides: { flood: { limit: 1 } }, body: ({ rule }) => ({ no: rule }) },
    });
    app.get(RateLimitEvents).on('decision', ({ decision, context }) => {
      const { getClass, getHandler } = context as Record<string, () => { name: string }>;
      events.push([decision.allowed, getClass!.call(context).name, getHandler!.call(context).name]);
    });
    const from = (ip: string): Promise<Answer> => get('/orders', { 'x-forwarded-for': ip });
    expect((await from('10.0.0.1')).status).toBe(200);
    const denied = await from('10.0.0.1');
    expect([denied.status, JSON.parse(denied.body)]).toEqual([429, { no: 'flood' }]);
    expect(await statuses(3, () => from('10.0.0.9'))).toEqual([200, 200, 200]);
    await app.get(RateLimitService).block('flood', '10.0.0.2', '1m');
    expect((await from('10.0.0.2')).status).toBe(429);
    const call = ['RoutingLimiter', 'limitBeforeRouting'];
    expect(events).toEqual([
      [true, ...call],
      [false, ...call],
      [false, ...call],
    ]);
  });

  it('applies live changes, counts on Redis, and is on the page', async () => {
    const { get, app } = await start(framework, {
      options: {
        redis: redisUrl(),
        prefix: uniquePrefix(),
        timeout: 10_000,
        liveRules: new MemoryRuleSource(),
      },
      imports: [RateLimitDashboardModule.forRoot()],
    });
    expect(await statuses(4, () => get('/unknown'))).toEqual([404, 404, 404, 429]);
    await app.get(RateLimitService).rules.set('flood', { limit: 5 }, { by: 'ops' });
    const raised = await get('/orders');
    expect([raised.status, limitHeaders(raised)['ratelimit-policy']]).toEqual([200, '"flood";q=5;w=60']);
    await app.get(RateLimitService).rules.set('flood', { limit: 100 }, { by: 'ops' });
    const { rules } = JSON.parse((await get('/rate-limits/snapshot')).body) as Snapshot;
    expect(rules).toContainEqual(
      expect.objectContaining({ rule: 'flood', top: [expect.objectContaining({ denied: 1 })] }),
    );
  });

  it('denies with a 503 if Redis cannot decide and the rule says so, which health reports', async () => {
    const { get, app } = await start(framework, {
      rule: { ...FLOOD, onStoreError: 'deny' },
      options: { redis: 'redis://127.0.0.1:1' },
    });
    expect((await get('/unknown')).status).toBe(503);
    expect((await app.get(RateLimitHealth).isHealthy()).rateLimit).toMatchObject({ degraded: true });
  });

  it('covers a global prefix and versions, whose whole path `exclude` compares', async () => {
    const { get } = await start(framework, {
      exclude: ['/api/v1/health'],
      rule: { ...FLOOD, limit: 1 },
      before: (app) => {
        app.setGlobalPrefix('api');
        app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
      },
    });
    expect(await statuses(2, () => get('/api/v1/orders'))).toEqual([200, 429]);
    expect((await get('/health')).status).toBe(429);
    expect((await get('/api/v1/health')).status).toBe(200);
  });

  it('covers what is added to the framework after it: a sub-application, or a plugin with routes of its own', async () => {
    const { get } = await start(framework, { rule: { ...FLOOD, limit: 1 }, after: addSubApplication });
    expect(await statuses(2, () => get('/sub/page'))).toEqual([200, 429]);
  });

  it('two applications in one process count separately, each by its own rule', async () => {
    const [one, other] = await Promise.all([
      start(framework, { rule: { ...FLOOD, limit: 1 } }),
      start(framework, { rule: { ...FLOOD, limit: 2 } }),
    ]);
    expect(await statuses(3, () => one.get('/x'))).toEqual([404, 429, 429]);
    expect(await statuses(3, () => other.get('/x'))).toEqual([404, 404, 429]);
  });

  it('a function of the rule that throws denies the request with a 500', async () => {
    const by = (): never => {
      throw new Error('no');
    };
    const { get } = await start(framework, { rule: { ...FLOOD, by } });
    expect((await get('/orders')).status).toBe(500);
  });

  it.each(['at once', 'late'])(
    'a denied upload is read in part only, and its client still has the 429 if it reads %s',
    async (when) => {
      const { app } = await start(framework, { rule: { ...FLOOD, limit: 0 } });
      const server = app.getHttpServer() as Server;
      const accepted = once(server, 'connection') as Promise<[Socket]>;
      // The server has sent the response, and has closed its side of the connection.
      const late = accepted.then(([socket]) => once(socket, 'finish'));
      const received = await upload(portOf(server), when === 'late' ? late : undefined);
      const [socket] = await accepted;
      expect(received).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
      expect(received.toLowerCase()).toContain('\r\nconnection: close\r\n');
      expect(received).toMatch(/"violated-policies":\["flood"\].*\}$/);
      expect(socket.bytesRead).toBeLessThan(256_000);
    },
  );

  it('a denied request without a body leaves its connection open, also for pipelined requests', async () => {
    const { port } = await start(framework, { rule: { ...FLOOD, limit: 1 } });
    const socket = connect(port, '127.0.0.1');
    closing.push(() => socket.destroy());
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.write('GET /x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(4));
    while ((text.match(/HTTP\/1\.1 \d+/g) ?? []).length < 4) await once(socket, 'data');
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 404',
      'HTTP/1.1 429',
      'HTTP/1.1 429',
      'HTTP/1.1 429',
    ]);
    expect(text.toLowerCase()).not.toContain('connection: close');
  });
});

function tenantOf(context: {
  switchToHttp(): { getRequest(): { headers: Record<string, string> } };
}): string | undefined {
  return context.switchToHttp().getRequest().headers['x-who'];
}

function addSubApplication(app: INestApplication): void {
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'fastify') {
    const instance = adapter.getInstance() as {
      register(plugin: unknown, options?: object): void;
    };
    const plugin = (
      child: { get(path: string, handler: unknown): void },
      _options: object,
      done: () => void,
    ): void => {
      child.get('/page', (_request: unknown, reply: { send(text: string): void }) => reply.send('page'));
      done();
    };
    instance.register(plugin, { prefix: '/sub' });
    return;
  }
  const sub = new ExpressAdapter().getInstance<{ get(path: string, handler: unknown): void }>();
  sub.get('/page', (_request: unknown, response: { end(text: string): void }) => response.end('page'));
  app.use('/sub', sub);
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const UPLOAD = 100e6;
const CHUNK = Buffer.alloc(65_536, ' ');

/**
 * Sends a large body, and returns what the server sent until it closed the connection.
 *
 * @param late the client reads nothing until then
 */
async function upload(port: number, late?: Promise<unknown>): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  const read = (): void => void socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => undefined);
  const ended = new Promise((resolve) => socket.once('end', resolve).once('close', resolve));
  if (!late) read();
  const reading = late?.then(read);
  socket.write(
    `POST /orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${UPLOAD}\r\n\r\n`,
  );
  void writeAll(socket);
  await reading;
  await ended;
  socket.destroy();
  return received;
}

/** Writes until the other side reads no more. */
async function writeAll(stream: Writable): Promise<void> {
  const closed = once(stream, 'close');
  for (let sent = 0; sent < UPLOAD && stream.writable; sent += CHUNK.length) {
    if (!stream.write(CHUNK)) await Promise.race([once(stream, 'drain'), closed]);
  }
}

describe('limitBeforeRouting on HTTP/2', () => {
  it('a denied upload gets the 429, and the server reads at most its flow control window', async () => {
    const imports = [RateLimitModule.forRoot({ onDemand: { flood: { ...FLOOD, limit: 0 }, login: FLOOD } })];
    const module = await Test.createTestingModule({ imports, controllers: [Orders] }).compile();
    const app = module.createNestApplication(new FastifyAdapter({ http2: true } as never));
    limitBeforeRouting(app, 'flood');
    await app.listen(0, '127.0.0.1');
    closing.push(() => app.close());
    const server = app.getHttpServer() as Server;
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = connectHttp2(`http://127.0.0.1:${portOf(server)}`);
    closing.unshift(() => client.destroy());
    const [socket] = await accepted;
    const stream = client.request({
      ':method': 'POST',
      ':path': '/orders',
      'content-type': 'application/json',
    });
    stream.on('error', () => undefined).resume();
    const [headers] = (await Promise.all([once(stream, 'response'), writeAll(stream)]))[0] as [
      Record<string, unknown>,
    ];
    expect(headers[':status']).toBe(429);
    expect(headers['connection']).toBeUndefined();
    expect(socket.bytesRead).toBeLessThan(256_000);
  });
});

describe('static files of Express', () => {
  it('are limited if they are added after it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'static-'));
    writeFileSync(join(folder, 'page.txt'), 'page');
    const { get } = await start('express', {
      rule: { ...FLOOD, limit: 1 },
      after: (app) => (app as NestExpressApplication).useStaticAssets(folder),
    });
    expect(await statuses(2, () => get('/page.txt'))).toEqual([200, 429]);
  });
});

/** The type of the options is a class that Nest does not export. */
type NestOptions = NonNullable<Parameters<typeof NestFactory.create>[1]> & object;

describe('a wrong use of limitBeforeRouting', () => {
  const create = async (
    imports: ModuleMetadata['imports'],
    cors = false,
  ): Promise<[INestApplication, LogLines]> => {
    const logs = new LogLines();
    @Module({ imports: imports! })
    class AppModule {}
    const options = { logger: logs, abortOnError: false, cors };
    const app = await NestFactory.create(
      AppModule,
      Object.assign(Object.create(null) as NestOptions, options),
    );
    closing.push(() => app.close());
    return [app, logs];
  };
  const withRules = (onDemand: RateLimitModuleOptions['onDemand'], more: RateLimitModuleOptions = {}) =>
    create([RateLimitModule.forRoot({ onDemand, ...more })]);

  it('without RateLimitModule throws, and names the fix', async () => {
    const [app] = await create([]);
    expect(() => limitBeforeRouting(app, 'flood')).toThrow('add RateLimitModule.forRoot() to the imports');
  });

  it('after listen, or twice for one rule, throws', async () => {
    const [app] = await withRules({ flood: FLOOD, other: FLOOD });
    limitBeforeRouting(app, 'flood');
    expect(() => limitBeforeRouting(app, 'flood')).toThrow('called twice for one rule');
    await app.listen(0, '127.0.0.1');
    expect(() => limitBeforeRouting(app, 'other')).toThrow(
      'called after app.listen() or app.init(); call it before',
    );
  });

  it.each<[unknown, object, string]>([
    [{ window: '1m' }, {}, 'got {"window":"1m"}; allowed: the name of a rule in `onDemand`'],
    ['flood', { excludes: ['/health'] }, 'excludes: no such option: did you mean "exclude"?'],
    ['flood', { exclude: '/health' }, 'exclude: got "/health"; allowed: a list of normalized paths'],
  ])('with the arguments %j and %j throws', async (rule, options, message) => {
    const [app] = await withRules({ flood: FLOOD });
    expect(() => limitBeforeRouting(app, rule as string, options)).toThrow(message);
  });

  it.each([['health'], ['/health?x'], ['//health'], ['/a/../health'], ['/a#b'], [5]])(
    'with the path %j to exclude throws',
    async (path) => {
      const [app] = await withRules({ flood: FLOOD });
      expect(() => limitBeforeRouting(app, 'flood', { exclude: [path as string] })).toThrow(
        'allowed: a list of normalized paths such as "/health", without a query',
      );
    },
  );

  it.each<[string, Rule, string]>([
    ['by user', { ...FLOOD, by: 'user' }, 'by: got "user"'],
    ['by a list with the user', { ...FLOOD, by: ['ip', 'user'] }, 'by: got'],
    ['with plans', { ...FLOOD, plans: { pro: { limit: 9 } }, plan: () => 'pro' }, 'plans: got'],
    ['with scope route', { ...FLOOD, scope: 'route' }, 'scope: got "route"'],
    ['of concurrency', { algorithm: 'concurrency', limit: 1 }, 'algorithm: got "concurrency"'],
    [
      'of leaky-bucket',
      { window: '1m', limit: 1, algorithm: 'leaky-bucket' },
      'algorithm: got "leaky-bucket"',
    ],
    ['with maxWait', { ...FLOOD, maxWait: '1s' }, 'maxWait: got "1s"'],
  ])('with a rule %s stops the application', async (_what, flood, message) => {
    const [app] = await withRules({ flood });
    limitBeforeRouting(app, 'flood');
    await expect(app.init()).rejects.toThrow(message);
  });

  it('with an unknown name, or one in `rules`, stops the application', async () => {
    const [app] = await withRules({ flood: FLOOD }, { rules: { default: FLOOD } });
    limitBeforeRouting(app, 'flod');
    limitBeforeRouting(app, 'default');
    await expect(app.init()).rejects.toThrow(
      /limitBeforeRouting\("flod"\): no rule in `onDemand` has this name.*"flood"[\s\S]*move it to `onDemand`/,
    );
  });

  it('with a decorator that overrides the rule stops the application', async () => {
    @Controller()
    class Login {
      @RateLimit('flood', { limit: 3 })
      @Post('login')
      login() {}
    }
    await expect(start('express', { controllers: [Login] })).rejects.toThrow(
      'rule "flood" of Login.login: overrides limit, but limitBeforeRouting() has applied the rule',
    );
  });

  it('with the option `cors` of Nest warns at start, and names the fix', async () => {
    const [app, logs] = await create([RateLimitModule.forRoot({ onDemand: { flood: FLOOD } })], true);
    limitBeforeRouting(app, 'flood');
    await app.init();
    const warned = logs.ours().filter(({ level }) => level === 'warn');
    expect(warned.map(({ message }) => message)).toEqual([
      expect.stringMatching(/Remove the option, and call app\.enableCors\(\).*RL_CORS_AFTER_LIMIT/),
    ]);
  });
});
