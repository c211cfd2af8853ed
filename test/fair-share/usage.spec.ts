import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, RateLimitService, Usage, type RuleDecision } from '../../lib/index.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';
import { STORES, virtualStore, VirtualTime } from '../support/virtual-store.js';

const HOUR = 3_600_000;

@Controller()
class Api {
  @RateLimit('api')
  @Get('api')
  api(@Usage() usage: RuleDecision[]) {
    return usage;
  }
}

afterEach(closeApps);

describe.each(STORES)('usage of a rule with share, with %s', (kind) => {
  async function start() {
    const time = new VirtualTime();
    const rule = { window: '1h', limit: 8, algorithm: 'gcra', by: 'x-tenant' } as const;
    const onDemand = { api: { ...rule, share: { weights: { gold: 3 } } } };
    const limits = RateLimitModule.forRoot({
      prefix: uniquePrefix(),
      onDemand,
      warnings: { RL_HEADER_ALONE: false },
    });
    const { app, get } = await startApp(
      { imports: [limits], controllers: [Api] },
      { framework: 'express', store: virtualStore(kind, time) },
    );
    const service = app.get(RateLimitService);
    const usage = async (tenant: string) => {
      const [{ remaining, share }] = (await service.usage(tenant, ['api'])) as [RuleDecision];
      return { remaining, ...share };
    };
    return { time, get, limits: service, usage };
  }

  it('a tenant sees its guaranteed part, what it has borrowed, and what is left', async () => {
    const { limits, usage, time } = await start();
    await limits.consume('api', 'ann', { cost: 5 });
    expect(await usage('ann')).toEqual({ remaining: 3, guaranteed: 8, borrowed: 0 });
    const { share } = await limits.consume('api', 'gold');
    expect(share).toEqual({ guaranteed: 6, borrowed: 0 });
    // A quarter of the limit belongs to ann now, and she has taken five.
    expect(await usage('ann')).toEqual({ remaining: 0, guaranteed: 2, borrowed: 3 });
    expect(await usage('gold')).toEqual({ remaining: 5, guaranteed: 6, borrowed: 0 });
    time.advance(HOUR);
    await limits.consume('api', 'ann');
    expect(await usage('ann')).toMatchObject({ borrowed: 0 });
  });

  it('a handler sees the part of its tenant, and so does a tenant that is denied', async () => {
    const { get, limits } = await start();
    await limits.consume('api', 'gold', { cost: 8 });
    await limits.consume('api', 'ann', { cost: 2 });
    const decision = await limits.consume('api', 'ann');
    expect(decision).toMatchObject({ allowed: false, share: { guaranteed: 2, borrowed: 0 } });
    await limits.reset('api', 'gold');
    const [own] = JSON.parse((await get('/api', { 'x-tenant': 'gold' })).body) as [RuleDecision];
    expect(own).toMatchObject({ rule: 'api', remaining: 5, share: { guaranteed: 6, borrowed: 0 } });
  });

  it('a reset refills the part of one tenant, and leaves the others what they have', async () => {
    const { limits, usage } = await start();
    await limits.consume('api', 'gold');
    await limits.consume('api', 'ann', { cost: 1 });
    await limits.consume('api', 'ann', { cost: 1 });
    const ofGold = await usage('gold');
    expect(await usage('ann')).toEqual({ remaining: 0, guaranteed: 2, borrowed: 0 });
    expect(await limits.reset('api', 'ann')).toBe(true);
    expect(await usage('ann')).toEqual({ remaining: 2, guaranteed: 2, borrowed: 0 });
    expect(await usage('gold')).toEqual(ofGold);
    expect(await limits.reset('api', 'bob')).toBe(false);
  });

  it('operations that need a queue or held permits are refused with the operation to use', async () => {
    const { limits } = await start();
    await expect(limits.hold('api', 'ann')).rejects.toThrow(
      'hold() needs a concurrency rule, but rule "api" uses gcra-fair-share; use consume() instead',
    );
    await expect(limits.reserve('api', 'ann', { maxWait: '1m' })).rejects.toThrow(
      'reserve() with maxWait needs a rule whose algorithm can delay requests, but rule "api" uses gcra-fair-share',
    );
    await expect(limits.block('api', 'ann', '1m')).rejects.toThrow('rule "api".block: missing');
  });

  it('a reservation is settled with the actual cost, and charges its tenant only', async () => {
    const { limits, usage } = await start();
    await limits.consume('api', 'gold');
    const reservation = await limits.reserve('api', 'ann', { cost: 2 });
    await reservation.settle(1);
    expect(await usage('ann')).toEqual({ remaining: 1, guaranteed: 2, borrowed: 0 });
  });
});

describe('a reset of one tenant in another process', () => {
  it('ends the denials that this process has cached', async () => {
    const prefix = uniquePrefix();
    const onDemand = { api: { window: '1d', limit: 2, algorithm: 'gcra', share: {} } as AnyRule };
    const start = async () => {
      const imports = [RateLimitModule.forRoot({ redis: redisUrl(), prefix, timeout: 5000, onDemand })];
      return (await startApp({ imports }, { framework: 'express' })).app.get(RateLimitService);
    };
    const [one, other] = [await start(), await start()];
    await one.consume('api', 'ann', { cost: 2 });
    const denied = await one.consume('api', 'ann');
    expect(denied).toMatchObject({ allowed: false, share: { guaranteed: 2, borrowed: 0 } });
    expect(await other.reset('api', 'ann')).toBe(true);
    await until(async () => (await one.consume('api', 'ann')).allowed, 'the reset');
  });
});

describe('requests that wait for permits of a rule with share', () => {
  it.each(['Redis', 'memory'])('acquire waits until its tenant has a permit, with %s', async (store) => {
    const { app } = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({
            redis: store === 'Redis' ? redisUrl() : undefined,
            prefix: uniquePrefix(),
            onDemand: { jobs: { window: '100ms', limit: 4, algorithm: 'gcra', share: {} } as AnyRule },
          }),
        ],
      },
      { framework: 'express' },
    );
    const limits = app.get(RateLimitService);
    await limits.consume('jobs', 'ann', { cost: 4 });
    const [ann, bob] = await Promise.all([limits.acquire('jobs', 'ann'), limits.acquire('jobs', 'bob')]);
    expect([ann.allowed, bob.allowed]).toEqual([true, true]);
  });
});
