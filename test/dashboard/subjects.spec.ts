import type { ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import { masked } from '../../lib/dashboard/collect/masked.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { EVERY_USER, startDashboard, type DashboardApp } from './dashboard-app.js';

afterEach(closeApps);

const LOGIN = { onDemand: { login: { window: '1h', limit: 3, by: 'ip' } } } as const;
const BLOCKABLE = { onDemand: { login: { ...LOGIN.onDemand.login, block: 'manual' } } } as const;

async function denyAll({ login }: DashboardApp, ip: string): Promise<void> {
  while ((await login(ip)).status !== 429);
}

describe.each(FRAMEWORKS)('the subjects on the operations page, on %s', (framework) => {
  it('a reset gives a subject its full limit', async () => {
    const app = await startDashboard({ framework });
    await denyAll(app, '203.0.113.7');
    const [{ id, remaining } = { id: '', remaining: 1 }] = (await app.rule('login')).top;
    expect(remaining).toBe(0);
    const { status, body } = await app.change('subjects/reset', { rule: 'login', subject: id });
    expect([status, body]).toEqual([200, '{"reset":true}']);
    expect((await app.rule('login')).top[0]?.remaining).toBe(3);
    expect((await app.login('203.0.113.7')).status).toBe(200);
  });

  it('a block of an invalid time is refused with the value and the values allowed', async () => {
    const app = await startDashboard({ framework, limits: BLOCKABLE });
    await denyAll(app, '203.0.113.7');
    const { id } = (await app.rule('login')).top[0]!;
    const body = { rule: 'login', subject: id, expires: '99999999999d' };
    const answer = await app.change('subjects/block', body);
    expect([answer.status, answer.body]).toEqual([
      422,
      expect.stringMatching(/expires: got \\"99999999999d\\"; allowed: .*366 days/),
    ]);
  });

  it.each([
    ['by the block of its rule', BLOCKABLE],
    ['by a live exception if its rule has no block', { ...LOGIN, liveRules: new MemoryRuleSource() }],
  ])('a subject is blocked %s, and a reset allows it again', async (_how, limits) => {
    const app = await startDashboard({ framework, limits });
    await denyAll(app, '203.0.113.7');
    const { id } = (await app.rule('login')).top[0]!;
    await app.change('subjects/reset', { rule: 'login', subject: id });
    const blocked = await app.change('subjects/block', { rule: 'login', subject: id, expires: '10m' });
    expect(blocked.status).toBe(200);
    expect((await app.login('203.0.113.7')).status).toBe(429);
    expect((await app.login('203.0.113.8')).status).toBe(200);
    await app.change('subjects/reset', { rule: 'login', subject: id });
    expect((await app.login('203.0.113.7')).status).toBe(200);
  });

  it('a subject of a rule that cannot block is not blocked, and the message names the fix', async () => {
    const app = await startDashboard({ framework });
    await denyAll(app, '203.0.113.7');
    const { id } = (await app.rule('login')).top[0]!;
    const { status, body } = await app.change('subjects/block', {
      rule: 'login',
      subject: id,
      expires: '10m',
    });
    expect([status, body]).toEqual([422, expect.stringContaining('Set its field `block`')]);
  });

  it('a subject of more than 64 characters is shown by its first characters, and can be reset and blocked', async () => {
    const long = `ann.smith@${'example.'.repeat(20)}com`;
    const by = (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-email'];
    const onDemand = { login: { window: '1h', limit: 1, by } } as const;
    const limits = { onDemand, liveRules: new MemoryRuleSource() };
    const app = await startDashboard({ framework, limits, dashboard: { unmaskGuards: [EVERY_USER] } });
    const login = async () =>
      (await app.send({ method: 'POST', path: '/login', headers: { 'x-email': long } })).status;
    expect([await login(), await login()]).toEqual([200, 429]);
    const { id, subject, remaining } = (await app.rule('login')).top[0]!;
    expect([subject, remaining]).toEqual(['an•••', 0]);
    expect(await app.subjects('login')).toEqual([expect.stringMatching(/^ann\.smit…#[0-9a-f]{32}$/)]);
    await app.change('subjects/reset', { rule: 'login', subject: id });
    expect([await login(), await login()]).toEqual([200, 429]);
    await app.change('subjects/block', { rule: 'login', subject: id, expires: '10m' });
    const history = JSON.parse((await app.ask('history?rule=login')).body) as { subject: object }[];
    expect(history.map((entry) => entry.subject)).toEqual([{ id, subject }]);
    await app.change('subjects/reset', { rule: 'login', subject: id });
    expect([await login(), await login()]).toEqual([200, 429]);
  });

  it('API keys are masked to different texts, and can be reset and blocked', async () => {
    const onDemand = { login: { window: '1h', limit: 1, by: 'api-key' } } as const;
    const app = await startDashboard({ framework, limits: { onDemand, liveRules: new MemoryRuleSource() } });
    const login = async (key: string) =>
      (await app.send({ method: 'POST', path: '/login', headers: { 'x-api-key': key } })).status;
    expect([await login('sk-live-1'), await login('sk-live-1')]).toEqual([200, 429]);
    const { id, subject } = (await app.rule('login')).top[0]!;
    expect(subject).toMatch(/^#[0-9a-f]{4}•••$/);
    await app.change('subjects/reset', { rule: 'login', subject: id });
    expect(await login('sk-live-1')).toBe(200);
    const { status } = await app.change('subjects/block', { rule: 'login', subject: id, expires: '10m' });
    expect([status, await login('sk-live-1'), await login('sk-live-2')]).toEqual([200, 429, 200]);
    await app.change('subjects/reset', { rule: 'login', subject: id });
    expect(await login('sk-live-1')).toBe(200);
  });

  it('an id of another rule, of another application or of nothing names no subject', async () => {
    const app = await startDashboard({ framework });
    const other = await startDashboard({ framework });
    await denyAll(app, '203.0.113.7');
    await denyAll(other, '203.0.113.7');
    const [{ id } = { id: '' }] = (await app.rule('login')).top;
    const [{ id: foreign } = { id: '' }] = (await other.rule('login')).top;
    for (const [rule, subject] of [
      ['default', id],
      ['login', foreign],
      ['login', '203.0.113.7'],
      ['login', '*'],
    ]) {
      expect((await app.change('subjects/reset', { rule, subject })).status).toBe(422);
    }
  });
});

describe('the subjects on the operations page', () => {
  it('are nowhere in what the page receives unless they are unmasked', async () => {
    const app = await startDashboard({ dashboard: { unmaskGuards: [EVERY_USER] } });
    await denyAll(app, '203.0.113.7');
    expect((await app.ask('snapshot')).body).not.toContain('203.0.113.7');
    expect(await app.subjects('login')).toEqual(['203.0.113.7']);
  });

  it('are masked if a client is named "everyone", and not if the rule counts all requests together', async () => {
    const by = (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-name'];
    const rules = { default: { window: '1h', limit: 1, by: 'everyone' } } as const;
    const app = await startDashboard({
      limits: { rules, onDemand: { login: { window: '1h', limit: 1, by } } },
    });
    const login = { method: 'POST', path: '/login', headers: { 'x-name': 'everyone' } } as const;
    for (const status of [200, 429]) expect((await app.send(login)).status).toBe(status);
    const shown = async (rule: string) => (await app.rule(rule)).top.map(({ subject }) => subject);
    expect([await shown('default'), await shown('login')]).toEqual([['everyone'], ['e•••e']]);
  });

  it('have the same id in every snapshot, and different ones under different rules', async () => {
    const app = await startDashboard({
      limits: { rules: { default: { window: '1h', limit: 3 } }, ...LOGIN },
    });
    await denyAll(app, '203.0.113.7');
    const idOf = async (rule: string) => (await app.rule(rule)).top[0]?.id;
    expect(await idOf('login')).toBe(await idOf('login'));
    expect(await idOf('login')).not.toBe(await idOf('default'));
  });

  it.each([
    ['203.0.113.7', '2•••7'],
    ['ann', '•••'],
    ['ann-b', 'a•••'],
    ['ann@example.com', 'an•••m'],
    ['9f86d081884c7d659a2feaa0c55ad015', '9f•••5'],
    [['tenant-7', 'ann'], 't•••7 | •••'],
    ['everyone', 'e•••e'],
    ['😀😀😀😀😀😀😀😀', '😀•••😀'],
  ])('%p is masked as %p', (subject, text) => {
    expect(masked(subject)).toBe(text);
  });
});
