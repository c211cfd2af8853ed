import type { ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { FoundSubject } from '../../lib/dashboard/snapshot.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { closeApps } from '../support/nest-app.js';
import { EVERY_USER, startDashboard, unmasked, type DashboardSetup } from './dashboard-app.js';

afterEach(closeApps);

const STORES = {
  memory: () => ({}),
  Redis: () => ({ redis: redisUrl(), prefix: uniquePrefix(), timeout: 5000 }),
} as const;

async function start(limits: RateLimitModuleOptions, dashboard: DashboardSetup['dashboard'] = {}) {
  const app = await startDashboard({
    limits: { rules: {}, ...limits },
    dashboard: { unmaskGuards: [EVERY_USER], author: () => 'ann', ...dashboard },
  });
  const named = async <Each extends { rule: string; subject: { id: string } }>(list: readonly Each[]) => {
    const wanted = list.map(({ rule, subject: { id } }) => ({ rule, id }));
    const names = wanted.length === 0 ? [] : await unmasked(app, wanted);
    return list.map((each, index) => ({ ...each, subject: names[index]!, id: each.subject.id }));
  };
  const all = async () => (JSON.parse((await app.ask('restrictions')).body) as FoundSubject).restrictions;
  const list = async () => named(await all());
  return {
    ...app,
    service: app.app.get(RateLimitService),
    named,
    list,
    find: async (subject: string): Promise<FoundSubject> => {
      const { status, body } = await app.change('subjects/find', { subject });
      expect([status, body]).toEqual([200, expect.any(String)]);
      return JSON.parse(body) as FoundSubject;
    },
  };
}

const MANUAL = { window: '1h', limit: 3, algorithm: 'gcra', by: 'ip', block: 'manual' } as const;

describe.each(Object.entries(STORES))('a subject that an operator looks for, on %s', (_store, storeOf) => {
  it('is found in every form of an IP, by a header value and by the parts of a list, masked, with what each rule has left', async () => {
    const by = (context: ExecutionContext) => context.getClass().name;
    const { service, find, named } = await start({
      ...storeOf(),
      onDemand: {
        login: MANUAL,
        key: { window: '1h', limit: 5, by: 'x-key' },
        pair: { window: '1h', limit: 5, by: ['user', 'ip'] },
        other: { window: '1h', limit: 5, by },
        varying: { window: '1h', limit: () => 5, burst: '1h', algorithm: 'gcra', by: 'ip', block: 'manual' },
      },
    });
    await service.consume('login', '2001:db8:0:0::7');
    for (const form of ['2001:db8::7', '2001:DB8:0000::1', ' [2001:db8::1]:443 ']) {
      const { rules, unused } = await find(form);
      expect(JSON.stringify(rules)).not.toContain('2001:db8');
      expect([await named(rules), unused]).toEqual([
        [
          {
            rule: 'login',
            route: null,
            id: expect.any(String),
            subject: '2001:db8::/64',
            figures: expect.objectContaining({ allowed: true, limit: 3, remaining: 2 }),
            threshold: null,
          },
        ],
        4,
      ]);
    }
    await service.consume('key', 'secret-1');
    await service.consume('pair', ['ann', '203.0.113.7']);
    const rulesOf = async (text: string) => (await find(text)).rules.map(({ rule }) => rule);
    expect(await rulesOf('secret-1')).toEqual(['key']);
    expect(await rulesOf('ann | 203.0.113.7')).toEqual(['pair']);
    expect(await rulesOf('bob')).toEqual([]);
    await service.block('varying', '203.0.113.9', '1h');
    expect((await find('203.0.113.9')).rules).toEqual([
      expect.objectContaining({ rule: 'varying', figures: null }),
    ]);
  });

  it('has its blocks and exceptions with author, reason and end, also while it is quiet, and each can be undone', async () => {
    const { service, find, list, change, login, named } = await start({
      ...storeOf(),
      onDemand: { login: MANUAL, mail: { window: '1h', limit: 3, by: 'user' } },
      liveRules: new MemoryRuleSource(),
    });
    const by = { by: 'bob', reason: 'a partner' };
    await service.rules.setException('login', '203.0.113.8', { limit: 50 }, { ...by, expires: '1d' });
    await service.rules.setException('mail', 'ann@example.com', 'deny', { by: 'bob' });
    await service.block('login', '203.0.113.9', '10m');
    const { rules } = await find('203.0.113.8');
    const { id } = (await named(rules))[0]!;
    const block = { rule: 'login', subject: id, expires: '1h', reason: 'an attack' };
    expect((await change('subjects/block', block)).status).toBe(200);
    await until(async () => (await list()).length === 4, 'the block of the program', 10_000);
    const shown = (await list()).map(({ id: _id, endsInMs, at, ...each }) => ({
      ...each,
      endsInMs: endsInMs && Math.ceil(endsInMs / 60_000),
      at: typeof at,
    }));
    expect(shown).toEqual([
      {
        rule: 'login',
        subject: '203.0.113.8',
        exception: { limit: 50 },
        ...by,
        endsInMs: 1440,
        at: 'number',
      },
      {
        rule: 'mail',
        subject: 'ann@example.com',
        exception: 'deny',
        by: 'bob',
        endsInMs: null,
        at: 'number',
      },
      { rule: 'login', subject: '203.0.113.8', by: 'ann', reason: 'an attack', endsInMs: 60, at: 'number' },
      { rule: 'login', subject: '203.0.113.9', by: 'a program', endsInMs: 10, at: 'undefined' },
    ]);
    const { restrictions } = await find('203.0.113.8');
    expect(restrictions.map(({ reason }) => reason)).toEqual(['a partner', 'an attack']);
    expect((await login('203.0.113.8')).status).toBe(429);

    for (const { subject, rule, exception } of restrictions) {
      const path = exception === undefined ? 'subjects/unblock' : 'subjects/unset';
      expect((await change(path, { rule, subject: subject.id })).status).toBe(200);
    }
    expect((await find('203.0.113.8')).restrictions).toEqual([]);
    expect((await list()).map(({ subject }) => subject)).toEqual(['ann@example.com', '203.0.113.9']);
    expect((await login('203.0.113.8')).status).toBe(200);
    expect((await change('subjects/unset', { rule: 'login', subject: id })).status).toBe(422);
  });

  it('that is counted by its IP, since it has no subject, is found by the IP and as the page writes it, and a block denies it', async () => {
    const { get, find, change, named } = await start({
      ...storeOf(),
      rules: { default: { window: '1h', limit: 3, by: 'user' } },
      liveRules: new MemoryRuleSource(),
    });
    const status = async () => (await get('/page', { 'x-forwarded-for': '203.0.113.7' })).status;
    expect(await status()).toBe(200);
    for (const text of ['203.0.113.7', '| 203.0.113.7']) {
      const { rules } = await find(text);
      const figures = expect.objectContaining({ limit: 3, remaining: 2 });
      const found = { rule: 'default', subject: ' | 203.0.113.7', figures };
      expect(await named(rules)).toEqual([expect.objectContaining(found)]);
    }
    const { id } = (await find('203.0.113.7')).rules[0]!.subject;
    const block = { rule: 'default', subject: id, expires: '1h' };
    expect((await change('subjects/block', block)).status).toBe(200);
    expect(await status()).toBe(429);
    const { restrictions } = await find('| 203.0.113.7');
    expect(restrictions).toEqual([
      expect.objectContaining({ rule: 'default', exception: 'deny', by: 'ann' }),
    ]);
    expect((await change('subjects/unset', { rule: 'default', subject: id })).status).toBe(200);
    expect(await status()).toBe(200);
  });

  it('that was blocked by a denial is listed, and unblocking it gives it its permits back', async () => {
    const { find, list, change, login, named } = await start({
      ...storeOf(),
      onDemand: { login: { ...MANUAL, block: '1h' } },
    });
    while ((await login('203.0.113.7')).status !== 429);
    await until(async () => (await list()).length === 1, 'the block', 10_000);
    const [block] = await list();
    expect(block).toMatchObject({ rule: 'login', subject: '203.0.113.7' });
    expect(block!.by).toBeUndefined();
    expect((await named((await find('203.0.113.7')).restrictions))[0]).toMatchObject({ id: block!.id });
    expect((await change('subjects/unblock', { rule: 'login', subject: block!.id })).status).toBe(200);
    expect(await list()).toEqual([]);
    expect((await login('203.0.113.7')).status).toBe(200);
  });

  it('keeps its used permits when a block of an operator is undone', async () => {
    const { find, service, change, login } = await start({ ...storeOf(), onDemand: { login: MANUAL } });
    while ((await login('203.0.113.7')).status !== 429);
    await service.block('login', '203.0.113.7', '1h');
    const { restrictions } = await find('203.0.113.7');
    const { id } = restrictions[0]!.subject;
    await until(
      async () => (await find('203.0.113.7')).restrictions[0]?.by === 'a program',
      'the note',
      10_000,
    );
    expect((await change('subjects/unblock', { rule: 'login', subject: id })).status).toBe(200);
    const { rules, restrictions: left } = await find('203.0.113.7');
    expect([rules[0]!.figures?.remaining, left]).toEqual([0, []]);
  });
});

it('a block outlives the process that made it in the list of the others, and a subject in the list of denials is shown as blocked', async () => {
  const limits = { ...STORES.Redis(), onDemand: { login: { ...MANUAL, limit: 1, block: '1h' } } } as const;
  const [one, other] = [await start(limits), await start(limits)];
  await other.service.block('login', '203.0.113.9', '10m');
  while ((await other.login('203.0.113.7')).status !== 429);
  await until(async () => (await one.list()).length === 2, 'both blocks', 10_000);
  await other.close();
  expect((await one.list()).map(({ subject, by }) => [subject, by])).toEqual([
    ['203.0.113.9', 'a program'],
    ['203.0.113.7', undefined],
  ]);
  expect((await one.login('203.0.113.7')).status).toBe(429);
  const top = async () => (await one.rule('login')).top[0];
  await until(async () => (await top()) !== undefined, 'the denial', 10_000);
  expect(await top()).toMatchObject({ remaining: 0, isBlocked: true });
});

it('a block that a reset of a program has ended is not listed', async () => {
  const { service, list } = await start({ onDemand: { login: MANUAL } });
  await service.block('login', '203.0.113.7', '1h');
  await until(async () => (await list()).length === 1, 'the block', 10_000);
  await service.reset('login', '203.0.113.7');
  expect(await list()).toEqual([]);
});

it('a flood of blocks replaces neither the blocks of operators nor takes more than a fixed number of places', async () => {
  const { service, ask, find, change } = await start({
    onDemand: { login: { ...MANUAL, limit: 1, block: '1h' } },
  });
  await service.consume('login', '203.0.113.7');
  const { id } = (await find('203.0.113.7')).rules[0]!.subject;
  expect(
    (await change('subjects/block', { rule: 'login', subject: id, expires: '10m', reason: 'x' })).status,
  ).toBe(200);
  for (let n = 0; n < 1400; n += 1)
    await service.consume('login', `198.51.${(n / 2) >> 8}.${(n >> 1) & 255}`);
  const listed = async () =>
    (JSON.parse((await ask('restrictions')).body) as FoundSubject).restrictions.map(({ reason }) => reason);
  await until(async () => (await listed()).length > 1, 'the flood', 10_000);
  const reasons = await listed();
  expect(reasons).toContain('x');
  expect(reasons.length).toBeLessThanOrEqual(101);
});

it('a page that is read-only finds subjects, and undoes nothing', async () => {
  const { service, find, change } = await start({ onDemand: { login: MANUAL } }, { readOnly: true });
  await service.block('login', '203.0.113.7', '1h');
  const { restrictions } = await find('203.0.113.7');
  expect(restrictions).toHaveLength(1);
  for (const path of ['subjects/unblock', 'subjects/unset', 'subjects/block']) {
    const body = { rule: 'login', subject: restrictions[0]!.subject.id };
    expect([path, (await change(path, body)).status]).toEqual([path, 403]);
  }
});
