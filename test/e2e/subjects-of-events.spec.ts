import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitEvents,
  RateLimitModule,
  RateLimitService,
  SubjectDigest,
  type By,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { EventSubject } from '../../lib/rules/subject.js';
import { closeApps, SETUPS, startApp } from '../support/nest-app.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { virtualStore, VirtualTime } from '../support/virtual-store.js';
import { said, type Headers } from '../support/door-app.js';

@Controller()
class Routes {
  @RateLimit('login')
  @Get()
  login() {}
}

const KEY = 'sk-live-1';
const device = (context: ExecutionContext) => said(context, 'x-device');
const QUOTA = { window: '1h', limit: 1, algorithm: 'gcra' } as const;

const SUBJECTS: [string, By | readonly By[], Headers][] = [
  ['an API key', 'api-key', { 'x-api-key': KEY }],
  ['a header', 'x-tenant', { 'x-tenant': 'acme' }],
  ['credentials', 'authorization', { authorization: 'Bearer abc' }],
  ['a header without a hyphen', { header: 'apikey' }, { apikey: 'k1' }],
  ['an IP and an API key', ['ip', 'api-key'], { 'x-api-key': KEY }],
  ['a function and a header', [device, 'x-tenant'], { 'x-device': 'd'.repeat(99), 'x-tenant': 'acme' }],
  ['an IPv6 address', 'ip', { 'x-forwarded-for': '2001:db8::1' }],
  ['an IPv6 address in a header', { ip: 'x-real-ip' }, { 'x-real-ip': '2001:db8::1' }],
  ['a request without the API key, by its IP', 'api-key', {}],
  ['everyone', 'everyone', {}],
];

afterEach(closeApps);

describe.each(SETUPS)('the subjects of events on $framework with $kind', ({ framework, kind }) => {
  async function start(by: By | readonly By[], headers: Headers, options: RateLimitModuleOptions = {}) {
    const onDemand = { login: { ...QUOTA, by, block: 'manual' } } as const;
    const imports = [RateLimitModule.forRoot({ prefix: uniquePrefix(), onDemand, ...options })];
    const store = virtualStore(kind, new VirtualTime());
    const { app, get } = await startApp(
      { imports, controllers: [Routes] },
      { framework, store, trustProxy: true },
    );
    const subjects: EventSubject[] = [];
    app.get(RateLimitEvents).on('decision', (event) => subjects.push(...event.subjects));
    const login = async (sent = headers) =>
      (await get('/', { 'x-forwarded-for': '203.0.113.7', ...sent })).status;
    return { limits: app.get(RateLimitService), login, subjects };
  }

  it.each(SUBJECTS)(
    'a program resets and blocks the client of an event when the rule counts by %s',
    async (_title, by, headers) => {
      const { limits, login, subjects } = await start(by, headers);
      expect([await login(), await login()]).toEqual([200, 429]);
      const [subject] = subjects as [EventSubject];
      expect(await limits.peek('login', subject)).toMatchObject({ allowed: false });
      expect(await limits.reset('login', subject)).toBe(true);
      expect(await limits.reset('login', subject)).toBe(false);
      await limits.block('login', subject, '1h');
      expect(await login()).toBe(429);
      const route = { route: [Routes, 'login'], rule: 'login' } as const;
      expect(await limits.reset(route, subject)).toBe(true);
      expect(await login()).toBe(200);
    },
  );

  it('an API key has an exception, set by the subject of an event', async () => {
    const { limits, login, subjects } = await start(
      'api-key',
      { 'x-api-key': KEY },
      {
        liveRules: new MemoryRuleSource(),
      },
    );
    expect([await login(), await login()]).toEqual([200, 429]);
    const [subject] = subjects as [EventSubject];
    await limits.rules.setException('login', subject, 'allow', { by: 'ops' });
    expect([await login(), await login()]).toEqual([200, 200]);
    expect(await login({ 'x-api-key': 'another' })).toBe(200);
    expect(await login({ 'x-api-key': 'another' })).toBe(429);
  });

  it('a client that sends the digest of the API key of another has a counter of its own', async () => {
    const { limits, login, subjects } = await start('api-key', { 'x-api-key': KEY });
    expect([await login(), await login()]).toEqual([200, 429]);
    const [digest] = subjects as [SubjectDigest];
    expect(digest).toBeInstanceOf(SubjectDigest);
    expect(JSON.stringify(digest)).not.toContain(KEY.slice(0, 3));
    for (const forged of [digest.digest, `#${digest.digest}`, JSON.stringify(digest)]) {
      expect(await limits.reset('login', forged)).toBe(false);
      expect(await login({ 'x-api-key': forged })).toBe(200);
    }
    const parsed = JSON.parse(JSON.stringify(digest)) as SubjectDigest;
    await expect(limits.reset('login', parsed)).rejects.toThrow(/the value of the header x-api-key/);
    expect(await login()).toBe(429);
  });

  it('a weight applies to a tenant from a header', async () => {
    const shared = { ...QUOTA, limit: 8, by: 'x-tenant', share: { weights: { acme: 3 } } } as const;
    const { limits, login, subjects } = await start(
      'x-tenant',
      { 'x-tenant': 'acme' },
      { onDemand: { login: shared } },
    );
    await login();
    await login({ 'x-tenant': 'other' });
    const parts = subjects.map(async (subject) => (await limits.peek('login', subject)).share?.guaranteed);
    expect(await Promise.all(parts)).toEqual([6, 2]);
  });
});
