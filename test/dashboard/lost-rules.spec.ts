import { Redis } from 'ioredis';
import { afterEach, expect, it } from '@jest/globals';
import { RateLimitService } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps, FRAMEWORKS } from '../support/nest-app.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';
import { startDashboard, type DashboardSetup } from './dashboard-app.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0).reverse()) await close();
});

/** Starts an application whose live rules are lost. */
async function startLost(setup: DashboardSetup = {}) {
  const server = await startRedisServer();
  const redis = new Redis(server.url);
  closers.push(
    () => server.stop(),
    () => redis.disconnect(),
  );
  const app = await startDashboard({
    ...setup,
    limits: { liveRules: new RedisRuleSource({ redis: server.url }) },
  });
  const { rules } = app.app.get(RateLimitService);
  expect((await app.snapshot()).loss).toBeNull();
  await rules.set('login', { limit: 7 }, { by: 'ops' });
  await rules.setException('login', '203.0.113.77', 'deny', { by: 'ops' });
  await redis.flushall();
  await until(async () => (await app.snapshot()).loss !== null, 'the loss');
  return { ...app, rules };
}

it('the page shows lost live rules with their time, those in force and those in the source, and masks subjects', async () => {
  const { snapshot } = await startLost();
  expect((await snapshot()).loss).toEqual({
    at: expect.any(Number),
    reason: 'Redis has no version of live rules any more',
    inForce: [
      { rule: 'login', fields: { limit: 7 } },
      { rule: 'login', subject: { id: expect.any(String), subject: '20•••7' }, fields: 'deny' },
    ],
    stored: [],
  });
});

it.each(FRAMEWORKS)(
  'the page restores lost live rules, with an author and a reason: %s',
  async (framework) => {
    const { change, rules, snapshot, rule, ask } = await startLost({ framework });
    const edited = await change('rules/set', { rule: 'login', fields: { limit: 5 }, version: 0 });
    expect(edited.status).toBe(409);
    expect((await change('rules/restore', { reason: 'by mistake' })).status).toBe(200);
    expect((await snapshot()).loss).toBeNull();
    expect((await rule('login')).change).toMatchObject({ fields: { limit: 7 } });
    expect((await rules.history())[0]).toMatchObject({
      loss: 'restored',
      by: 'operations page',
      reason: 'by mistake',
    });
    expect(JSON.parse((await ask('history?rule=login')).body)).toMatchObject([{ loss: 'restored' }]);
    expect((await change('rules/restore', {})).status).toBe(409);
  },
);

it('the page accepts what the source holds', async () => {
  const { change, snapshot, rule } = await startLost();
  expect((await change('rules/accept', {})).status).toBe(200);
  expect((await snapshot()).loss).toBeNull();
  expect(await rule('login')).toMatchObject({ change: null, exceptions: 0 });
});

it('a read-only page confirms nothing', async () => {
  const { change, snapshot } = await startLost({ dashboard: { readOnly: true } });
  for (const path of ['rules/restore', 'rules/accept']) expect((await change(path, {})).status).toBe(403);
  expect((await snapshot()).loss).not.toBeNull();
});
