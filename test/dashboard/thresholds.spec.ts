import { afterEach, expect, it } from '@jest/globals';
import { RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import type { FoundSubject } from '../../lib/dashboard/snapshot.js';
import { closeApps } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { EVERY_USER, startDashboard, unmasked } from './dashboard-app.js';

afterEach(closeApps);

const STORES = {
  memory: () => ({}),
  Redis: () => ({ redis: redisUrl(), prefix: uniquePrefix(), timeout: 5000 }),
} as const;

const month = { window: 'month', limit: 100, algorithm: 'fixed-window', alerts: [0.5, 0.8, 1] } as const;

async function start(limits: RateLimitModuleOptions) {
  const app = await startDashboard({
    limits: { rules: {}, onDemand: { login: month }, ...limits },
    dashboard: { unmaskGuards: [EVERY_USER] },
  });
  const read = async () => (JSON.parse((await app.ask('restrictions')).body) as FoundSubject).rules;
  return {
    ...app,
    service: app.app.get(RateLimitService),
    read,
    /** What the page lists, as `subject rule: threshold, permits left`. */
    above: async () => {
      const rules = await read();
      const wanted = rules.map(({ rule, subject: { id } }) => ({ rule, id }));
      const names = wanted.length === 0 ? [] : await unmasked(app, wanted);
      return rules.map(({ rule, threshold, figures }, nth) => {
        return `${names[nth]} ${rule}: ${threshold}, ${figures?.remaining ?? 'unknown'}`;
      });
    },
  };
}

it.each(Object.entries(STORES))(
  'an operator who is asked which customers are near the end of their budget finds them on the page, with %s',
  async (_store, storeOf) => {
    const { service, above, read } = await start(storeOf());
    await service.consume('login', 'ann@example.com', { cost: 60 });
    await service.consume('login', 'bob@example.com', { cost: 30 });
    const budget = await service.reserve('login', 'cem@example.com', { cost: 10 });
    await budget.settle(85);
    await until(async () => (await above()).length === 2, 'both customers', 10_000);
    expect(await above()).toEqual(['cem@example.com login: 0.8, 15', 'ann@example.com login: 0.5, 40']);
    expect(JSON.stringify(await read())).not.toContain('example.com');
    await service.consume('login', 'ann@example.com', { cost: 40 });
    await until(async () => (await above())[0]?.startsWith('ann') === true, 'the last threshold', 10_000);
    expect(await above()).toEqual(['ann@example.com login: 1, 0', 'cem@example.com login: 0.8, 15']);
    await service.reset('login', 'ann@example.com');
    expect(await above()).toEqual(['cem@example.com login: 0.8, 15']);
  },
);

it('a customer stays on the pages of other processes when the process has ended that charged the budget', async () => {
  const limits = STORES.Redis();
  const [one, other] = [await start(limits), await start(limits)];
  await other.service.consume('login', 'ann', { cost: 90 });
  await until(async () => (await one.above()).length === 1, 'the customer', 10_000);
  await other.close();
  expect(await one.above()).toEqual(['ann login: 0.8, 10']);
});

it('a search shows the threshold that the subject is above', async () => {
  const { service, change } = await start({});
  await service.consume('login', 'ann', { cost: 60 });
  await service.consume('login', 'bob', { cost: 10 });
  for (const [subject, threshold] of [
    ['ann', 0.5],
    ['bob', null],
  ] as const) {
    const { rules } = JSON.parse((await change('subjects/find', { subject })).body) as FoundSubject;
    expect(rules.map((each) => each.threshold)).toEqual([threshold]);
  }
});

it('a customer whose limit was raised is not listed any more', async () => {
  const { service, above } = await start({ liveRules: new MemoryRuleSource() });
  await service.consume('login', 'ann', { cost: 60 });
  await until(async () => (await above()).length === 1, 'the customer', 10_000);
  await service.rules.set('login', { limit: 1000 }, { by: 'ops' });
  expect(await above()).toEqual([]);
});

it('a budget whose limit depends on the request is listed without figures', async () => {
  const login = { ...month, limit: () => 2, by: 'ip' } as const;
  const app = await start({ onDemand: { login } });
  expect((await app.login('203.0.113.7')).status).toBe(200);
  await until(async () => (await app.above()).length === 1, 'the customer', 10_000);
  expect(await app.above()).toEqual(['203.0.113.7 login: 0.5, unknown']);
});

it('customers beyond those that the page can list replace no more than others of their kind', async () => {
  const { service, read } = await start({});
  for (let nth = 0; nth < 300; nth += 1) await service.consume('login', `user-${nth}`, { cost: 60 });
  await until(async () => (await read()).length > 0, 'customers', 10_000);
  expect((await read()).length).toBeLessThanOrEqual(100);
});
