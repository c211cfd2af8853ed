import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { MOST_RESULTS } from '../../lib/dashboard/collect/denial-record.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import {
  AdminGuard,
  EVERY_USER,
  startDashboard,
  type DashboardApp,
  type DashboardSetup,
} from './dashboard-app.js';

afterEach(closeApps);

const ANN = '203.0.113.7';
const BY = { by: 'support' };

async function start(setup: DashboardSetup = {}) {
  const app = await startDashboard(setup);
  const limits = app.app.get(RateLimitService);
  return { ...app, limits };
}

/** Returns the id of the next denial of a client, without `#`. */
async function deniedId({ login }: DashboardApp, ip = ANN): Promise<string> {
  for (;;) {
    const { status, body } = await login(ip);
    if (status === 429) return (JSON.parse(body) as { instance: string }).instance.slice(1);
  }
}

describe('a customer who calls because of a 429', () => {
  it('learns which rule denied, when, what it had left, and what was counted before', async () => {
    const app = await start();
    const before = Date.now();
    const id = await deniedId(app);
    const explained = await app.limits.explain(`#${id}`, BY);
    expect(explained).toEqual({
      id,
      at: expect.any(Number),
      process: { host: expect.any(String), pid: process.pid },
      rules: [
        expect.objectContaining({ rule: 'default', allowed: true, limit: 100, subject: ANN }),
        {
          rule: 'login',
          allowed: false,
          limit: 3,
          windowMs: 3_600_000,
          remaining: 0,
          retryAfterMs: expect.any(Number),
          resetAfterMs: expect.any(Number),
          delayMs: 0,
          source: 'memory',
          subject: ANN,
          cost: 1,
          recorded: {
            share: 1,
            isWhole: true,
            requests: ['allowed', 'allowed', 'allowed', 'denied'].map((outcome) => ({
              at: expect.any(Number),
              outcome,
              count: 1,
            })),
          },
        },
      ],
    });
    expect(explained.at).toBeGreaterThanOrEqual(before);
  });

  it('learns which live change and which exception denied, by whom and why, also after they were replaced', async () => {
    const app = await start({ limits: { liveRules: new MemoryRuleSource() } });
    const { rules } = app.limits;
    const version = await rules.set('login', { limit: 1 }, { by: 'ops', reason: 'attack' });
    const [changed, excepted] = [await deniedId(app), '203.0.113.8'];
    await rules.unset('login', { by: 'ops' });
    await rules.setException('login', excepted, 'deny', { by: 'legal', reason: 'court order' });
    const denied = await deniedId(app, excepted);
    await rules.unsetException('login', excepted, { by: 'legal' });
    const ruleOf = async (id: string) =>
      (await app.limits.explain(id, BY)).rules.find(({ rule }) => rule === 'login');
    expect(await ruleOf(changed)).toMatchObject({
      limit: 1,
      change: { version, by: 'ops', reason: 'attack', fields: { limit: 1 } },
    });
    const other = await ruleOf(denied);
    expect(other).toMatchObject({
      limit: 0,
      exception: { by: 'legal', reason: 'court order', fields: 'deny' },
    });
    expect(other).not.toHaveProperty('change');
  });

  it('gets a sentence if the denial is not recorded any more, or if no process has written the id', async () => {
    const app = await start();
    const id = await deniedId(app);
    for (let nth = 0; nth < MOST_RESULTS; nth += 1) await app.limits.consume('login', ANN);
    expect(await app.limits.explain(id, BY)).toEqual({
      id,
      problem:
        'This denial is not recorded: a process keeps the results of its last 8,192, and none of `peek`.',
      rules: [],
    });
    expect(await app.limits.explain('abcdefghijkl', BY)).toMatchObject({
      problem: 'No known process of this application has written this id.',
    });
  });

  it('is not explained to a caller without a name, and each explanation is logged without the subject', async () => {
    const app = await start();
    const id = await deniedId(app);
    await expect(app.limits.explain(id, { by: '' })).rejects.toThrow('by: got ""');
    await expect(app.limits.explain('short', BY)).rejects.toThrow(
      'explain: got "short"; allowed: the id of a denial, which has 12 characters',
    );
    await app.limits.explain(id, BY);
    expect(app.logs.ours().map(({ message }) => message)).toContain(
      `An explanation of the denial ${id} was requested by "support".`,
    );
    expect(JSON.stringify(app.logs.ours())).not.toContain(ANN);
  });

  it('is logged with the whole author if this is an email address', async () => {
    const app = await start();
    const id = await deniedId(app);
    await app.limits.explain(id, { by: 'support@example.com' });
    expect(app.logs.ours().map(({ message }) => message)).toContain(
      `An explanation of the denial ${id} was requested by "support@example.com".`,
    );
  });

  it('is not explained where denials are not recorded', async () => {
    const app = await start({ dashboard: { explain: false } });
    const id = await deniedId(app);
    await expect(app.limits.explain(id, BY)).rejects.toThrow('RateLimitDashboardModule has explain: false');
  });
});

it('an explanation while Redis hangs is a 503 with the reason, without an error in the log', async () => {
  const server = await startRedisServer();
  const app = await start({
    limits: { redis: server.url, prefix: 'x:', timeout: 100 },
    dashboard: { unmaskGuards: [EVERY_USER] },
  });
  await until(async () => (await app.snapshot()).processes.length === 1, 'the page');
  await server.pause();
  const { status, body } = await app.change('explain', { id: 'q7Xk0aV3mJtE' });
  expect([status, body]).toEqual([503, expect.stringContaining('Redis cannot be read: ')]);
  expect(app.logs.ours().filter(({ message }) => message.includes('failed'))).toEqual([]);
  await server.resume();
  await closeApps();
  await server.stop();
});

describe('the request of the page that explains a denial', () => {
  class PrivacyGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      return (
        context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-privacy'] ===
        'yes'
      );
    }
  }

  it('is for users with the right to see subjects, and is logged with the author', async () => {
    const guards = { guards: [AdminGuard], unmaskGuards: [PrivacyGuard], author: () => 'support' };
    const app = await start({ dashboard: guards });
    const id = await deniedId(app);
    const explain = (headers: Record<string, string>) => app.change('explain', { id: `#${id}` }, headers);
    for (const headers of [{}, { 'x-admin': 'yes' }, { 'x-privacy': 'yes' }]) {
      const { status, body } = await explain(headers);
      expect([status, body.includes(ANN)]).toEqual([403, false]);
    }
    const { status, body } = await explain({ 'x-admin': 'yes', 'x-privacy': 'yes' });
    expect([status, body.includes(ANN)]).toEqual([200, true]);
    expect(app.logs.ours().map(({ message }) => message)).toEqual(
      expect.arrayContaining([`An explanation of the denial ${id} was requested by "support".`]),
    );
    const withoutHeader = await app.send({
      method: 'POST',
      path: '/rate-limits/explain',
      headers: { 'x-admin': 'yes', 'x-privacy': 'yes', 'content-type': 'application/json' },
      body: JSON.stringify({ id }),
    });
    expect(withoutHeader.status).toBe(403);
  });

  it('is refused on a page without guards for it', async () => {
    const app = await start({ dashboard: { guards: [AdminGuard] } });
    const id = await deniedId(app);
    const { status, body } = await app.change('explain', { id }, { 'x-admin': 'yes' });
    expect([status, body.includes('unmaskGuards')]).toEqual([403, true]);
  });
});
