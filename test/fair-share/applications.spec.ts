import { Controller, Get } from '@nestjs/common';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimitModule,
  RateLimitService,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

@Controller()
class Search {
  @RateLimit({
    name: 'search',
    window: '1h',
    limit: 8,
    algorithm: 'gcra',
    by: 'x-tenant',
    scope: 'shared',
    share: { weights: { gold: 3 } },
  })
  @Get('search')
  search() {}

  @RateLimit({
    name: 'lookup',
    window: '1h',
    limit: 8,
    algorithm: 'gcra',
    by: 'ip',
    share: { weights: { '2001:db8:1:2::5': 3 } },
  })
  @Get('lookup')
  lookup() {}
}

afterEach(closeApps);

async function start(options: RateLimitModuleOptions) {
  const { app, send } = await startApp(
    { imports: [RateLimitModule.forRoot(options)], controllers: [Search] },
    { framework: 'express', trustProxy: true },
  );
  const ask = async (tenant: string) =>
    (await send({ method: 'GET', path: '/search', headers: { 'x-tenant': tenant } })).status;
  const askFrom = async (ip: string) =>
    (await send({ method: 'GET', path: '/lookup', headers: { 'x-forwarded-for': ip } })).status;
  return { ask, askFrom, limits: app.get(RateLimitService) };
}

describe('a route with fair shares', () => {
  it('a weight applies to the value of the header, and all tenants share the limit in one key of the rule', async () => {
    const prefix = uniquePrefix();
    const { ask } = await start({ redis: redisUrl(), timeout: 10_000, prefix });
    // gold has 3 of 4 parts.
    expect([await ask('gold'), await ask('ann')]).toEqual([200, 200]);
    expect([await ask('ann'), await ask('ann')]).toEqual([200, 429]);
    for (let nth = 0; nth < 5; nth++) expect(await ask('gold')).toBe(200);
    expect(await ask('gold')).toBe(429);
    const client = new Redis(redisUrl());
    const keys = await client.keys(`${prefix}*`);
    client.disconnect();
    expect(keys.filter((key) => /gcra[^:]*$/.test(key))).toEqual([
      `${prefix}{search}:search:gcra-fair-share3/3600000`,
    ]);
  });

  it('the weight of an IPv6 address applies to its network', async () => {
    const { askFrom } = await start({ warnings: { RL_TRUST_PROXY_ALL: false } });
    const [weighted, other] = ['2001:db8:1:2::9', '198.51.100.7'];
    expect([await askFrom(weighted), await askFrom(other)]).toEqual([200, 200]);
    expect([await askFrom(other), await askFrom(other)]).toEqual([200, 429]);
    for (let nth = 0; nth < 5; nth++) expect(await askFrom(weighted)).toBe(200);
    expect(await askFrom(weighted)).toBe(429);
  });

  it('weights change live, and an exception is "allow", "deny" or a weight', async () => {
    const { ask, limits } = await start({ liveRules: new MemoryRuleSource() });
    await ask('gold');
    const by = { by: 'ops' };
    await limits.rules.set('search', { share: { weights: { ann: 7 } } }, by);
    // ann has 7 of 10 parts of the limit, since gold keeps its weight until its next request.
    for (let nth = 0; nth < 5; nth++) expect(await ask('ann')).toBe(200);
    expect(await ask('ann')).toBe(429);
    await limits.rules.setException('search', 'bob', 'deny', by);
    expect(await ask('bob')).toBe(429);
    await expect(limits.rules.setException('search', 'bob', { limit: 3 }, by)).rejects.toThrow(
      'for a rule with share: "allow" or "deny"; give the subject a weight in share',
    );
  });

  it('a rule with plans cannot share its limit', async () => {
    const rules = {
      default: {
        window: '1h',
        limit: 8,
        algorithm: 'gcra',
        share: {},
        plans: { pro: { limit: 3 } },
        plan: () => 'pro',
      },
    } as const;
    await expect(start({ rules })).rejects.toThrow('a rule with share has one limit for all');
  });

  it('a limit that depends on the request stops an application whose rule has share', async () => {
    const rules = {
      tenants: { window: '1m', limit: () => 5, algorithm: 'gcra', by: 'x-tenant', share: {} },
    } as const;
    await expect(start({ rules })).rejects.toThrow(
      /tenants.*limit: got a function; allowed: a value, since all subjects of a rule with share/,
    );
  });
});
