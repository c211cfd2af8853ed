import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { RateLimitModule, RateLimitService, type RateLimitModuleOptions } from '../../lib/index.js';
import { MemoryRuleSource } from '../../lib/live.js';
import { Gate } from '../support/gate.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

const CLIENT = '127.0.0.1';

const RULE = {
  window: '1h',
  limit: 1000,
  algorithm: 'fixed-window',
  cost: 100,
  settle: (text: string) => text.length,
} as const;

let gate: Gate;

@Controller()
class Slow {
  @Get()
  async get() {
    await gate.pass();
    return 'x'.repeat(340);
  }
}

beforeEach(() => {
  gate = new Gate();
});
afterEach(async () => {
  gate.open();
  await closeApps();
});

async function start(options: RateLimitModuleOptions) {
  const rules = { tokens: { ...RULE, scope: 'shared' } } as const;
  const imports = [RateLimitModule.forRoot({ rules, prefix: uniquePrefix(), ...options })];
  const { app, get } = await startApp({ imports, controllers: [Slow] }, { framework: 'express' });
  const service = app.get(RateLimitService);
  const taken = async (name = 'tokens', subject = CLIENT): Promise<number> => {
    const { limit, remaining } = await service.peek(name, subject, { cost: 0 });
    return limit - remaining;
  };
  const answer = get('/');
  await until(() => gate.inside === 1, 'the handler to run');
  return { service, taken, answer };
}

describe('a request whose rule settles', () => {
  it('is settled under the rule that charged it, though a live change came between', async () => {
    const { service, taken, answer } = await start({ liveRules: new MemoryRuleSource() });
    await service.rules.set('tokens', { limit: 500 }, { by: 'ops' });
    expect(await taken()).toBe(100);
    gate.open();
    await answer;
    await until(async () => (await taken()) === 340, 'the charge to be settled');
    expect((await service.peek('tokens', CLIENT, { cost: 0 })).limit).toBe(500);
  });

  it('leaves the counters of another window alone, which a live change has started between', async () => {
    const { service, taken, answer } = await start({ liveRules: new MemoryRuleSource() });
    await service.rules.set('tokens', { window: '2h' }, { by: 'ops' });
    gate.open();
    await answer;
    expect(await taken()).toBe(0);
    await service.rules.unset('tokens', { by: 'ops' });
    await until(async () => (await taken()) === 340, 'the charge to be settled');
  });
});

describe('a request whose rule settles while Redis is down', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
    await server.stop();
  });

  it('is settled in the fallback that charged it', async () => {
    const { taken, answer } = await start({ redis: server.url });
    expect(await taken()).toBe(100);
    gate.open();
    expect((await answer).status).toBe(200);
    await until(async () => (await taken()) === 340, 'the charge to be settled');
  });
});

describe('a request whose rules settle in several slots of a Cluster', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
  });
  afterAll(() => cluster.close());

  it('is charged the real cost under each of them', async () => {
    const redis = cluster.startNodes;
    const { Cluster } = await import('ioredis');
    const mine = new Cluster(redis);
    const { taken, answer } = await start({
      redis: mine,
      timeout: 10_000,
      rules: {
        tokens: { ...RULE, scope: 'shared' },
        all: { ...RULE, scope: 'shared', by: 'everyone', cost: 400 },
      },
    });
    expect([await taken(), await taken('all', 'everyone')]).toEqual([100, 400]);
    gate.open();
    await answer;
    await until(async () => (await taken()) === 340, 'the charge to be settled');
    await until(async () => (await taken('all', 'everyone')) === 340, 'the other charge to be settled');
    mine.disconnect();
  });
});
