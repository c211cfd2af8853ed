import { Controller, Get, type ExecutionContext } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitModule,
  RateLimitService,
  Usage,
  type RateLimitModuleOptions,
  type RuleDecision,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps, FRAMEWORKS, refusalToStart, startApp } from '../support/nest-app.js';

const BY = { by: 'ops@example.com' };
const PLANS = { free: { limit: 2 }, pro: { limit: 4, window: '2h' } } as const;

/** The plan is in a header, for a test. */
const planOf = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-plan'];

const API = { window: '1h', limit: 1, by: 'x-tenant', plans: PLANS, plan: planOf } as const;

@Controller()
class Api {
  @RateLimit('api')
  @Get('api')
  api(@Usage() usage: RuleDecision[]) {
    return usage.map(({ rule, limit, remaining }) => ({ rule, limit, remaining }));
  }

  @Get('free')
  free(@Usage() usage: RuleDecision[]) {
    return usage;
  }
}

afterEach(closeApps);

const modules = (options: RateLimitModuleOptions) => ({
  imports: [
    RateLimitModule.forRoot({ warnings: { RL_HEADER_ALONE: false }, onDemand: { api: API }, ...options }),
  ],
  controllers: [Api],
});

describe.each(FRAMEWORKS)('plans on %s', (framework) => {
  const start = async (options: RateLimitModuleOptions = {}) => {
    const app = await startApp(modules(options), { framework });
    const ask = (tenant: string, plan?: string) =>
      app.get('/api', { 'x-tenant': tenant, ...(plan !== undefined && { 'x-plan': plan }) });
    const policy = async (tenant: string, plan?: string) =>
      (await ask(tenant, plan)).headers['ratelimit-policy'];
    return { ...app, ask, policy, limits: app.app.get(RateLimitService) };
  };

  it('an exception overrides the plan of the request field by field, and has no plans itself', async () => {
    const { ask, policy, limits } = await start({ liveRules: new MemoryRuleSource() });
    const except = (subject: string, fields: object) => limits.rules.setException('api', subject, fields, BY);
    await except('a', { mode: 'enforce' });
    await except('b', { window: '3h' });
    expect((await ask('a', 'pro')).body).toEqual(JSON.stringify([{ rule: 'api', limit: 4, remaining: 3 }]));
    expect(await policy('b', 'pro')).toBe('"api";q=4;w=10800');
    expect(await policy('b')).toBe('"api";q=1;w=10800');
    await limits.reset('api', 'a');
    expect((await ask('a', 'pro')).body).toEqual(JSON.stringify([{ rule: 'api', limit: 4, remaining: 3 }]));
    await expect(except('c', { plans: { pro: { limit: 7 } } })).rejects.toThrow('whatever its plan');
    await expect(except('c', { cost: 3 })).rejects.toThrow('got 3; allowed: at most 1');
  });

  it('the last valid limit of a function outlives a live change, and an exception needs no function', async () => {
    let limit: unknown = 3;
    const api = { window: '1h', limit: () => limit as number, by: 'x-tenant' } as const;
    const { policy, limits } = await start({ liveRules: new MemoryRuleSource(), onDemand: { api } });
    expect(await policy('a')).toBe('"api";q=3;w=3600');
    limit = undefined;
    await limits.rules.setException('api', 'vip', { limit: 9 }, BY);
    expect(await policy('b')).toBe('"api";q=3;w=3600');
    expect(await policy('vip')).toBe('"api";q=9;w=3600');
    await limits.rules.set('api', { window: '2h' }, BY);
    expect(await policy('b')).toBe('"api";q=3;w=7200');
    await limits.rules.set('api', { limit: 50 }, BY);
    expect(await policy('b')).toBe('"api";q=50;w=3600');
    await limits.rules.unset('api', BY);
    expect(await policy('b')).toBe('"api";q=3;w=3600');
  });

  it('a rule without a valid limit that is skipped asks for no subject, but for that of an exception', async () => {
    const limit = () => NaN;
    const api = {
      ...({ window: '1h', limit, by: 'x-tenant' } as const),
      ...({ onStoreError: 'allow', onMissingSubject: 'deny' } as const),
    };
    const { get, policy, limits } = await start({ liveRules: new MemoryRuleSource(), onDemand: { api } });
    expect((await get('/api')).status).toBe(200);
    await limits.rules.setException('api', 'vip', { limit: 9 }, BY);
    expect((await get('/api')).status).toBe(200);
    expect(await policy('vip')).toBe('"api";q=9;w=3600');
    await limits.rules.setException('api', 'bad', 'deny', BY);
    expect((await get('/api', { 'x-tenant': 'bad' })).status).toBe(429);
  });

  it('a request has the limit of its plan', async () => {
    const { policy } = await start();
    expect(await policy('a', 'free')).toBe('"api";q=2;w=3600');
    expect(await policy('b', 'pro')).toBe('"api";q=4;w=7200');
    expect(await policy('c')).toBe('"api";q=1;w=3600');
  });

  it('a plan with another window has counters of its own', async () => {
    const { ask } = await start();
    const statuses = [];
    for (const plan of ['free', 'free', 'free', 'pro', 'pro', 'pro'])
      statuses.push((await ask('a', plan)).status);
    expect(statuses).toEqual([200, 200, 429, 200, 200, 200]);
  });

  it('an unknown plan has the limit of the rule itself, and is reported once with the plans', async () => {
    const { policy, logs } = await start();
    expect(await policy('a', 'gold')).toBe('"api";q=1;w=3600');
    expect(await policy('b', 'gold')).toBe('"api";q=1;w=3600');
    const lines = logs.ours().filter(({ message }) => message.includes('gold'));
    expect(lines).toHaveLength(1);
    expect(lines[0]!.message).toContain(
      '.plan: got "gold"; allowed: "free", "pro". Such a request has the limit',
    );
  });

  it('a later layer overrides the plans that it names, and its own fields apply to the others', async () => {
    const { policy } = await start({
      overrides: { api: { limit: 3, plans: { pro: { limit: 9 }, max: { limit: 20 } } } },
    });
    expect(await policy('a', 'free')).toBe('"api";q=3;w=3600');
    expect(await policy('b', 'pro')).toBe('"api";q=9;w=7200');
    expect(await policy('c', 'max')).toBe('"api";q=20;w=3600');
  });

  it('a plan function is not called for a rule without plans, which programs can use', async () => {
    const { plan, plans: _plans, ...rule } = API;
    const calls: unknown[] = [];
    const { policy, limits } = await start({
      defaults: { plan: (context) => (calls.push(context), plan(context)) },
      onDemand: { api: rule, shared: { ...rule, plans: {}, algorithm: 'gcra', share: {} } },
    });
    expect(await policy('a', 'pro')).toBe('"api";q=1;w=3600');
    expect((await limits.consume('api', 'b')).allowed).toBe(true);
    expect(calls).toEqual([]);
  });

  it('a live change can set plans, and clamp all of them', async () => {
    const { policy, limits } = await start({ liveRules: new MemoryRuleSource() });
    await limits.rules.set('api', { plans: { pro: { limit: 6 } } }, BY);
    expect(await policy('a', 'pro')).toBe('"api";q=6;w=7200');
    expect(await policy('b', 'free')).toBe('"api";q=2;w=3600');
    await limits.rules.set('api', { limit: 1 }, BY);
    expect(await policy('c', 'pro')).toBe('"api";q=1;w=7200');
    const wrong = limits.rules.set('api', { plans: { pro: { limit: -1 } } }, BY);
    await expect(wrong).rejects.toThrow(/plans\.pro\.limit: got -1/);
  });

  it.each<[object, RegExp]>([
    [{ plans: { pro: { limit: -1 } } }, /rule "api"\.plans\.pro\.limit: got -1; allowed: an integer from 0/],
    [{ plans: { pro: { limt: 1 } } }, /plans\.pro\.limt: no such option .*did you mean "limit"/],
    [
      { plans: { pro: { algorithm: 'gcra', limit: 1 } } },
      /plans\.pro\.algorithm: all plans of a rule have its algorithm/,
    ],
    [{ plans: { pro: 5 } }, /plans: got \{"pro":5\}; allowed: an object of fields by plan/],
    [{ plan: undefined }, /\.plan: missing, and the rule has plans/],
    [{ plan: 'pro' }, /\.plan: got "pro"; allowed: a function of the ExecutionContext/],
  ])('wrong plans stop the application: %p', async (fields, message) => {
    expect(await refusalToStart(modules({ onDemand: { api: { ...API, ...fields } } }))).toMatch(message);
  });

  it('a program cannot use a rule with plans, since they depend on the request', async () => {
    const { limits } = await start();
    await expect(limits.consume('api', 'a')).rejects.toThrow(
      /depends on the request: plan given as a function/,
    );
  });
});

describe.each(FRAMEWORKS)('usage on %s', (framework) => {
  it('a handler gets what its caller has left under each rule', async () => {
    const { get } = await startApp(modules({}), { framework });
    const ask = async () => JSON.parse((await get('/api', { 'x-tenant': 'a', 'x-plan': 'pro' })).body);
    expect(await ask()).toEqual([{ rule: 'api', limit: 4, remaining: 3 }]);
    expect(await ask()).toEqual([{ rule: 'api', limit: 4, remaining: 2 }]);
    expect(JSON.parse((await get('/free')).body)).toEqual([]);
  });

  it('a program gets what a subject has left under the rules that count by it', async () => {
    const onDemand = {
      api: API,
      mail: { window: '1h', limit: 10 },
      export: { window: '1d', limit: 2 },
      login: { window: '1m', limit: 5, by: 'ip' },
    } as const;
    const { app } = await startApp(modules({ onDemand }), { framework });
    const limits = app.get(RateLimitService);
    await limits.consume('mail', 'tenant', { cost: 3 });
    const left = async (subject: string) =>
      (await limits.usage(subject)).map(({ rule, remaining }) => [rule, remaining]);
    expect(await left('tenant')).toEqual([
      ['mail', 7],
      ['export', 2],
    ]);
    expect(await left('203.0.113.7')).toEqual([
      ['mail', 10],
      ['export', 2],
      ['login', 5],
    ]);
    expect(await limits.usage('tenant', ['export'])).toEqual([
      expect.objectContaining({ rule: 'export', remaining: 2 }),
    ]);
    await expect(limits.usage('tenant', ['login'])).rejects.toThrow(/allowed: an IP address/);
  });
});
