import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions, type RouteRule } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';

const TOTAL = { name: 'total', scope: 'shared', window: '1m', limit: 5 } as const;
const FREE =
  "allowed to differ: limit, cost, count, settle, onError, skipIf, maxWait, or any field with scope: 'route'";

const byTenant = () => 'tenant';

const byPlan = { plan: () => 'free', plans: { free: { limit: 9 } } };

afterEach(closeApps);

/** Starts an application with a rule on each of two controllers. */
function appWith(one: RouteRule, other: RouteRule, options: RateLimitModuleOptions = {}) {
  @RateLimit(one)
  @Controller('one')
  class One {
    @Get() get() {}
  }
  @RateLimit(other)
  @Controller('other')
  class Other {
    @Get() get() {}
  }
  return { imports: [RateLimitModule.forRoot(options)], controllers: [One, Other] };
}

describe('a shared rule that has another counter at one of its places', () => {
  const AT = 'rule "total" of Other.get: ';
  const ONE = 'in One.get, but a shared rule has one counter';

  it.each<[object, string]>([
    [{ window: '1h' }, `${AT}window is "1h" here and "1m" ${ONE}; ${FREE}`],
    [
      { algorithm: 'gcra' },
      `${AT}algorithm is "gcra" here and "sliding-window-log" (the default) ${ONE}; ${FREE}`,
    ],
    [{ by: 'user' }, `${AT}by is "user" here and "ip" (the default) ${ONE}; ${FREE}`],
    [{ by: byTenant }, `${AT}by is a function here and "ip" (the default) ${ONE}; ${FREE}`],
    [{ block: '5m' }, `${AT}block is "5m" here and not set ${ONE}; ${FREE}`],
    [{ mode: 'shadow' }, `${AT}mode is "shadow" here and "enforce" (the default) ${ONE}; ${FREE}`],
    [{ per: 'instance' }, `${AT}per is "instance" here and "cluster" (the default) ${ONE}; ${FREE}`],
  ])('stops the application: %p', async (fields, problem) => {
    expect(await refusalToStart(appWith(TOTAL, { ...TOTAL, ...fields }))).toBe(configMessage(problem));
  });

  it.each<[object, object]>([
    [{}, { limit: 3, cost: 2, count: 'failures', skipIf: () => false }],
    [{}, { window: '60s', algorithm: 'sliding-window-log', by: 'ip', mode: 'enforce' }],
    [{ by: byTenant }, { by: byTenant }],
    [{ by: ['x-tenant', 'user'] }, { by: ['X-Tenant', 'user'] }],
    [{}, { scope: 'route', window: '1h', algorithm: 'gcra', by: 'user' }],
    [{}, { name: 'other', window: '1h' }],
    [
      { algorithm: 'gcra', burst: '10s' },
      { algorithm: 'gcra', burst: '10s', limit: 60 },
    ],
    [byPlan, { ...byPlan, plans: { free: {} }, limit: 9 }],
    [
      { ...byPlan, plans: { free: { limit: 9 }, pro: { limit: 99 } } },
      { ...byPlan, plans: { pro: { limit: 99 }, free: { limit: 9 } } },
    ],
  ])(
    'is none where what differs leaves the counter as it is, or the scope is the route: %p %p',
    async (one, other) => {
      await startApp(appWith({ ...TOTAL, ...one }, { ...TOTAL, ...other }), { framework: 'express' });
    },
  );

  it.each([
    ['gcra', 'burst'],
    ['leaky-bucket', 'queue'],
  ])(
    'stops the application where the time of a %s with permits as %s differs',
    async (algorithm, capacity) => {
      const rule = { ...TOTAL, algorithm, [capacity]: 2 } as RouteRule;
      expect(await refusalToStart(appWith(rule, { ...rule, limit: 10 }))).toBe(
        configMessage(
          `${AT}limit is 10 here and 5 ${ONE}; write ${capacity} as a time, such as "10s", or scope: 'route'`,
        ),
      );
    },
  );

  it('stops the application where the time of a plan with permits as burst differs', async () => {
    const plans = { free: { limit: 9, burst: 2 } };
    const rule = { ...TOTAL, ...byPlan, algorithm: 'gcra', plans } as unknown as RouteRule;
    const other = { ...rule, plans: { free: { ...plans.free, limit: 90 } } } as RouteRule;
    expect(await refusalToStart(appWith(rule, other))).toContain(`${AT}plans is {`);
  });

  it('is none where a decorator overrides the limit of a rule with plans', async () => {
    const options = { onDemand: { total: { window: '1m', limit: 5, ...byPlan } } } as const;
    const other = { name: 'total', limit: 3 } as RouteRule;
    await startApp(appWith({ name: 'total' }, other, options), { framework: 'express' });
  });

  it('stops the application when it is a rule of the module', async () => {
    const { name, ...total } = TOTAL;
    const metadata = appWith({ name: 'x', ...total }, { name, window: '1h' }, { rules: { total } });
    expect(await refusalToStart(metadata)).toBe(
      configMessage(
        `${AT}window is "1h" here and "1m" in the module, but a shared rule has one counter; ${FREE}`,
      ),
    );
  });
});
