import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { HttpException } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { RateLimitModule } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';
import { until } from '../support/redis/until.mjs';
import { AdminGuard, FROM_PAGE, startDashboard } from './dashboard-app.js';

const { NODE_ENV } = process.env;

afterEach(closeApps);
afterEach(() => {
  process.env['NODE_ENV'] = NODE_ENV;
});

/** Middleware that gives requests another peer. */
const peerIs =
  (peer: () => string) =>
  ({ socket }: IncomingMessage, _response: unknown, next: () => void): void => {
    Object.defineProperty(socket, 'remoteAddress', { value: peer(), configurable: true });
    next();
  };

const PATHS = ['', 'page', 'page.js', 'page.css', 'snapshot', 'history', 'events'];
const CHANGES = [
  'rules/preview',
  'rules/set',
  'rules/unset',
  'subjects/reset',
  'subjects/block',
  'actions/traffic',
];

describe.each(FRAMEWORKS)('the operations page on %s', (framework) => {
  it('gives nothing to a request that the guard refuses, and everything to one that it allows', async () => {
    const { ask, change } = await startDashboard({ framework, dashboard: { guards: [AdminGuard] } });
    for (const path of PATHS) expect([path, (await ask(path)).status]).toEqual([path, 403]);
    for (const path of CHANGES) expect([path, (await change(path, {})).status]).toEqual([path, 403]);
    expect((await ask('snapshot', { 'x-admin': 'yes' })).status).toBe(200);
  });

  it('refuses a change whose sender has reset the connection, so that its address is unknown', async () => {
    let runs = 0;
    let seen = 0;
    const actions = [{ id: 'traffic', label: 'Traffic', run: () => (runs += 1) }];
    const { change, port } = await startDashboard({ framework, dashboard: { actions } }, (app) =>
      app.use((_request: unknown, _response: unknown, next: () => void) => {
        seen += 1;
        next();
      }),
    );
    const headers = Object.entries({ host: 'localhost', ...FROM_PAGE, 'content-length': '2' });
    const lines = ['POST /rate-limits/actions/traffic HTTP/1.1', ...headers.map((each) => each.join(': '))];
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(`${lines.join('\r\n')}\r\n\r\n{}`);
    socket.resetAndDestroy();
    await until(() => seen === 1, 'the request');
    expect((await change('actions/traffic', {})).status).toBe(200);
    expect(runs).toBe(1);
  });

  it('refuses changes without its header, of another content type, and from pages of other origins', async () => {
    let runs = 0;
    const actions = [{ id: 'traffic', label: 'Traffic', run: () => (runs += 1) }];
    const { send, port } = await startDashboard({ framework, dashboard: { actions } });
    const statusOf = async (headers: Record<string, string>, body = '{}'): Promise<number> =>
      (await send({ method: 'POST', path: '/rate-limits/actions/traffic', headers, body })).status;
    const { 'x-rate-limit-dashboard': own, ...without } = FROM_PAGE;
    const here = `http://127.0.0.1:${port}`;
    expect(own).toBe('1');
    expect(await statusOf(without)).toBe(403);
    expect(
      await statusOf({ ...FROM_PAGE, 'content-type': 'application/x-www-form-urlencoded' }, 'a=1'),
    ).not.toBe(200);
    expect(await statusOf({ ...FROM_PAGE, 'content-type': 'text/plain' })).not.toBe(200);
    for (const origin of [
      'https://evil.example',
      'null',
      'http://127.0.0.1',
      `https://127.0.0.1.evil.example:${port}`,
    ])
      expect([origin, await statusOf({ ...FROM_PAGE, origin })]).toEqual([origin, 403]);
    for (const site of ['cross-site', 'same-site', 'none'])
      expect([site, await statusOf({ ...FROM_PAGE, 'sec-fetch-site': site })]).toEqual([site, 403]);
    expect(runs).toBe(0);
    expect(await statusOf({ ...FROM_PAGE, origin: here, 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(runs).toBe(1);
  });

  it('has no entry for what every object inherits, also behind a fragment, which browsers do not send', async () => {
    const { send, ask, logs } = await startDashboard({ framework });
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const statuses = [
        (await ask(name)).status,
        (await ask(`snapshot;/${name}`)).status,
        (await send({ method: 'POST', path: `/rate-limits/actions/${name}`, headers: FROM_PAGE, body: '{}' }))
          .status,
      ];
      expect([name, statuses]).toEqual([name, [404, 404, 404]]);
      const { status, body } = await ask(`snapshot#/${name}`);
      expect([name, status, Object.keys(JSON.parse(body) as object)]).toEqual([
        name,
        200,
        expect.arrayContaining(['rules']),
      ]);
      expect((await ask(`page#/${name}`)).headers['content-type']).toBe('text/html; charset=utf-8');
    }
    expect(logs.ours().filter(({ message }) => message.includes('failed'))).toEqual([]);
  });

  it('answers 500 to an error of an action that cannot be sent', async () => {
    const run = (): never => {
      throw new HttpException('x', 1000);
    };
    const { change } = await startDashboard({
      framework,
      dashboard: { actions: [{ id: 'traffic', label: 'Traffic', run }] },
    });
    const { status, body } = await change('actions/traffic', {});
    expect([status, body]).toEqual([
      500,
      expect.stringContaining('the log of the application has the reason'),
    ]);
  });

  it('changes nothing by GET', async () => {
    let runs = 0;
    const actions = [{ id: 'traffic', label: 'Traffic', run: () => (runs += 1) }];
    const { ask } = await startDashboard({ framework, dashboard: { actions } });
    for (const path of CHANGES) expect([path, (await ask(path, FROM_PAGE)).status]).toEqual([path, 404]);
    expect(runs).toBe(0);
  });

  it('refuses figures to pages of other origins, also where the application allows them to read its routes', async () => {
    const { app, ask } = await startDashboard({ framework });
    expect((await ask('snapshot', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await ask('snapshot', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask('events', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    await app.close();
    const open = await startApp(
      { imports: [RateLimitModule.forRoot(), RateLimitDashboardModule.forRoot()] },
      { framework, configure: (each) => each.enableCors() },
    );
    const { headers } = await open.get('/rate-limits/snapshot');
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('is only at localhost and IP addresses without guards, so that no foreign name can be bound to it', async () => {
    const { ask } = await startDashboard({ framework });
    const statusOf = async (host: string) => (await ask('snapshot', { host })).status;
    expect([
      await statusOf('localhost:3000'),
      await statusOf('[::1]:3000'),
      await statusOf('10.0.0.7'),
    ]).toEqual([200, 200, 200]);
    expect([await statusOf('evil.example'), await statusOf('localhost.evil.example:3000')]).toEqual([
      403, 403,
    ]);
  });

  it('answers only peers on the loopback interface without guards, whatever the headers are', async () => {
    const imports = [
      RateLimitModule.forRoot({ warnings: { RL_DASHBOARD_OPEN: false } }),
      RateLimitDashboardModule.forRoot(),
    ];
    let peer = '';
    const { get, send } = await startApp(
      { imports },
      { framework, trustProxy: true, configure: (app) => app.use(peerIs(() => peer)) },
    );
    const headers = { ...FROM_PAGE, host: 'localhost:3000', 'x-forwarded-for': '127.0.0.1' };
    const statuses = async (): Promise<readonly (number | undefined)[]> => [
      (await get('/rate-limits/snapshot', headers)).status,
      (await send({ method: 'POST', path: '/rate-limits/rules/preview', headers, body: '{}' })).status,
    ];
    for (peer of ['192.0.2.2', '::ffff:192.0.2.2', '2001:db8::1', '::2']) {
      expect([peer, await statuses()]).toEqual([peer, [403, 403]]);
    }
    expect((await get('/rate-limits/events', headers)).body).toContain('Set `guards`');
    for (peer of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) {
      expect([peer, await statuses()]).toEqual([peer, [200, 422]]);
    }
  });

  it('refuses long and deeply nested bodies and bodies of another form, with a message', async () => {
    const { change, send } = await startDashboard({ framework });
    expect((await change('rules/preview', { rule: 'x'.repeat(20_000), fields: {} })).status).toBe(413);
    for (const depth of [1000, 2000, 4000, 8000]) {
      const body = '['.repeat(depth) + ']'.repeat(depth);
      const { status } = await send({
        method: 'POST',
        path: '/rate-limits/rules/preview',
        headers: FROM_PAGE,
        body,
      });
      expect([413, 422]).toContain(status);
    }
    for (const body of [
      [],
      'text',
      null,
      { rule: 7, fields: {} },
      { rule: 'login', fields: [] },
      { other: 1 },
    ]) {
      const { status, body: text } = await change('rules/preview', body);
      expect([body, status >= 400 && status < 500]).toEqual([body, true]);
      expect((JSON.parse(text) as { message: unknown }).message).toBeTruthy();
    }
    const malformed = { method: 'POST', path: '/rate-limits/rules/preview', headers: FROM_PAGE, body: '{' };
    expect((await send(malformed)).status).toBe(400);
  });

  it('changes nothing if it is read-only, and shows so', async () => {
    let runs = 0;
    const actions = [{ id: 'traffic', label: 'Traffic', run: () => (runs += 1) }];
    const { change, snapshot } = await startDashboard({
      framework,
      limits: { liveRules: new MemoryRuleSource() },
      dashboard: { readOnly: true, actions },
    });
    for (const path of CHANGES.slice(1)) {
      expect([path, (await change(path, {})).status]).toEqual([path, 403]);
    }
    expect(runs).toBe(0);
    const shown = await snapshot();
    expect([shown.readOnly, shown.actions, shown.rules.map(({ editable }) => editable)]).toEqual([
      true,
      [],
      [false, false],
    ]);
  });
});

describe('an operations page without guards', () => {
  const imports = [RateLimitModule.forRoot(), RateLimitDashboardModule.forRoot()];

  it('does not start in production', async () => {
    process.env['NODE_ENV'] = 'production';
    expect(await refusalToStart({ imports })).toContain(
      'RateLimitDashboardModule.guards: missing; allowed in production: a list of one guard or more',
    );
  });

  it('does not start without RateLimitModule, and the error names the module and the fix', async () => {
    const pages = [
      RateLimitDashboardModule.forRoot(),
      RateLimitDashboardModule.forRootAsync({ useFactory: () => ({}), guards: [AdminGuard] }),
    ];
    for (const page of pages) {
      expect(await refusalToStart({ imports: [page] })).toContain(
        'RateLimitDashboardModule: RateLimitModule is not imported; add RateLimitModule.forRoot() to the imports of the root module',
      );
    }
  });

  it('does not start without options, and the error names the fix', async () => {
    expect(await refusalToStart({ imports: [imports[0]!, RateLimitDashboardModule] })).toContain(
      'RateLimitDashboardModule: imported without options; write RateLimitDashboardModule.forRoot()',
    );
  });

  it('does not start beside another page of the application', async () => {
    const second = RateLimitDashboardModule.forRoot({ path: '/other' });
    expect(await refusalToStart({ imports: [...imports, second] })).toContain(
      'RateLimitDashboardModule: imported twice; allowed: one operations page in an application',
    );
  });

  it('starts in production with a guard', async () => {
    process.env['NODE_ENV'] = 'production';
    const guarded = RateLimitDashboardModule.forRoot({ guards: [AdminGuard] });
    const { get } = await startApp(
      { imports: [RateLimitModule.forRoot(), guarded] },
      { framework: 'express' },
    );
    expect((await get('/rate-limits/snapshot', { 'x-admin': 'yes' })).status).toBe(200);
  });

  it('warns once outside production', async () => {
    const { logs } = await startApp({ imports }, { framework: 'express' });
    expect(logs.ours().filter(({ message }) => message.includes('RL_DASHBOARD_OPEN'))).toHaveLength(1);
  });
});

describe('the options of the operations page', () => {
  it.each([
    [{ path: 'a b' }, 'path: got "a b"; allowed: a path such as'],
    [{ guards: [{}] }, 'guards: got [{}]; allowed: a list of guards'],
    [{ unmaskGuards: AdminGuard }, 'unmaskGuards: got'],
    [{ actions: [{ id: '<b>' }] }, 'actions: got'],
    [
      { actions: ['One', 'Other'].map((label) => ({ id: 'a', label, run: () => label })) },
      /actions: got .*: "a" is the id of several actions; allowed: .*, each with its own id$/,
    ],
    [{ guard: AdminGuard }, 'RateLimitDashboardModule.forRoot.guard: no such option'],
  ])('%p: an invalid value is an error with the values allowed', (options, message) => {
    expect(() => RateLimitDashboardModule.forRoot(options as object)).toThrow(message);
  });

  it('can come from a factory, beside which the path and the guards are', async () => {
    const dashboard = RateLimitDashboardModule.forRootAsync({
      path: 'ops/limits',
      guards: [new AdminGuard()],
      useFactory: async () => Promise.resolve({ readOnly: true }),
    });
    const { get } = await startApp(
      { imports: [RateLimitModule.forRoot(), dashboard] },
      { framework: 'express', configure: (app) => app.setGlobalPrefix('api') },
    );
    expect((await get('/api/ops/limits/snapshot', { 'x-admin': 'yes' })).status).toBe(200);
    expect((await get('/api/ops/limits', { 'x-admin': 'yes' })).headers['location']).toBe('limits/page');
  });
});
