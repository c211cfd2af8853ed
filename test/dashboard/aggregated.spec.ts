import { afterEach, describe, expect, it } from '@jest/globals';
import { MemoryRuleSource } from '../../lib/live.js';
import { RedisRuleSource } from '../../lib/redis.js';
import type { Preview } from '../../lib/dashboard/snapshot.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardApp, type DashboardSetup } from './dashboard-app.js';

afterEach(closeApps);

/** Starts two processes of one application: two applications with the same keys in Redis. */
async function startTwo(setup: DashboardSetup = {}): Promise<readonly [DashboardApp, DashboardApp]> {
  const [prefix, key] = [uniquePrefix(), uniquePrefix()];
  const start = (): Promise<DashboardApp> =>
    startDashboard({
      ...setup,
      limits: {
        redis: redisUrl(),
        prefix,
        timeout: 10_000,
        liveRules: new RedisRuleSource({ redis: redisUrl(), key }),
        ...setup.limits,
      },
    });
  const apps = [await start(), await start()] as const;
  await until(async () => (await apps[0].snapshot()).processes.length === 2, 'both processes to be seen');
  return apps;
}

describe.each(FRAMEWORKS)('two processes on one Redis, on %s', (framework) => {
  it('each shows the requests of both, and the denied subjects of both as one', async () => {
    const [one, other] = await startTwo({ framework });
    for (let nth = 0; nth < 4; nth += 1) {
      await one.login('203.0.113.7');
      await other.login('203.0.113.7');
    }
    await until(async () => (await one.rule('login')).top[0]?.denied === 5, 'the denials of both');
    const { top, seconds } = await one.rule('login');
    expect(top).toEqual([
      { id: expect.any(String), subject: '2•••7', denied: 5, error: 0, remaining: 0, isBlocked: false },
    ]);
    const count = (of: 'allowed' | 'denied'): number => seconds.reduce((sum, each) => sum + each[of], 0);
    expect([count('allowed'), count('denied')]).toEqual([3, 5]);
    const { processes, from, shares, servers } = await one.snapshot();
    expect([from, processes.map(({ pid }) => pid)]).toEqual(['redis', [process.pid, process.pid]]);
    expect(shares.store + shares.cache).toBeCloseTo(1);
    expect(servers).toEqual([{ server: '', state: 'closed' }]);
  });

  it('a process that has ended is not shown', async () => {
    const [one, other] = await startTwo({ framework });
    await other.close();
    await until(async () => (await one.snapshot()).processes.length === 1, 'the process to vanish');
  });

  it('a rule that the page of one process sets is in force in the other', async () => {
    const [one, other] = await startTwo({ framework });
    expect((await other.login('203.0.113.7')).status).toBe(200);
    const set = await one.change('rules/set', {
      rule: 'login',
      fields: { limit: 1 },
      version: 0,
      reason: 'attack',
    });
    expect(set.status).toBe(200);
    await until(async () => (await other.login('203.0.113.7')).status === 429, 'the other process to deny');
    await until(async () => (await other.rule('login')).change !== null, 'the rule in the other process');
    const { change, fields } = await other.rule('login');
    expect(change).toMatchObject({ fields: { limit: 1 }, by: 'operations page', reason: 'attack' });
    expect(fields.find(({ name }) => name === 'limit')).toMatchObject({ value: '1', live: true });
    const history = await other.ask('history?rule=login');
    expect(JSON.parse(history.body)).toMatchObject([
      { rule: 'login', fields: { limit: 1 }, reason: 'attack' },
    ]);
    const stale = await one.change('rules/set', { rule: 'login', fields: { limit: 2 }, version: 0 });
    expect(stale.status).toBe(409);
    const unset = await one.change('rules/unset', { rule: 'login', version: change!.version });
    expect(unset.status).toBe(200);
    await until(async () => (await other.rule('login')).change === null, 'the change to be lifted');
  });

  it('a preview replays the requests of both', async () => {
    const [one, other] = await startTwo({ framework });
    for (const ip of ['203.0.113.7', '203.0.113.8']) {
      for (let nth = 0; nth < 3; nth += 1) {
        await one.login(ip);
        await other.login(ip);
      }
    }
    const { body } = await one.change('rules/preview', { rule: 'login', fields: { limit: 5 } });
    expect(JSON.parse(body)).toEqual({
      requests: 12,
      subjects: 2,
      deniedRecorded: 6,
      deniedNow: 6,
      deniedThen: 2,
      assumed: 0,
      assumedHoldMs: null,
      seconds: expect.any(Number),
      sampled: 1,
    });
  });

  it('simultaneous previews of several processes wait for one another', async () => {
    const [one, other] = await startTwo({ framework });
    await one.login('203.0.113.7');
    await other.login('203.0.113.7');
    const preview = async ({ change }: DashboardApp): Promise<unknown> => {
      const { status, body } = await change('rules/preview', { rule: 'login', fields: { limit: 5 } });
      return status === 200 ? (JSON.parse(body) as Preview).requests : status;
    };
    const found = async () => Promise.all([one, other, one, other].map(preview));
    await until(async () => String(await found()) === '2,2,2,2', 'all previews', 60_000);
  });
});

describe('an operations page in memory', () => {
  it('changes rules of a source in memory', async () => {
    const { change, login } = await startDashboard({ limits: { liveRules: new MemoryRuleSource() } });
    await change('rules/set', { rule: 'login', fields: { limit: 1 }, version: 0 });
    expect([(await login('203.0.113.7')).status, (await login('203.0.113.7')).status]).toEqual([200, 429]);
  });
});
