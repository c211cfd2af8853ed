import { Controller, Get } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RATE_LIMIT_REDIS, RateLimitHealth, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const servers: { stop(): Promise<void> }[] = [];

afterEach(async () => {
  await closeApps();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function start(redis: string) {
  const limits = RateLimitModule.forRoot({
    redis,
    rules: { default: { window: '1h', limit: 5, algorithm: 'gcra' } },
    liveRules: new RedisRuleSource({ redis }),
    timeout: 10_000,
  });
  const { app, logs } = await startApp(
    { imports: [limits], controllers: [Routes] },
    { framework: 'express' },
  );
  const service = app.get(RateLimitService);
  const sources: string[] = [];
  service.events.on('decision', ({ decision }) => sources.push(decision.source));
  return { app, logs, service, sources };
}

describe('a Redis that hides INFO', () => {
  const hiding = {
    'by renaming the command': { config: ['rename-command INFO ""'], login: '' },
    'from the user': { config: ['user limiter on >secret ~* &* +@all -info'], login: 'limiter:secret@' },
  };

  it.each(Object.entries(hiding))(
    '%s decides every request, and none goes to the fallback',
    async (_how, { config, login }) => {
      const server = await startRedisServer({ config });
      servers.push(server);
      const { app, logs, service, sources } = await start(`redis://${login}127.0.0.1:${server.port}`);
      for (const allowed of [true, true, true, true, true, false]) {
        expect(await service.consume('default', '192.0.2.1')).toMatchObject({ allowed });
      }
      expect(new Set(sources)).toEqual(new Set(['redis']));
      const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
      await until(async () => (await health()).warnings.length === 0, 'the first reading of the live rules');
      expect(await health()).toMatchObject({ degraded: false, warnings: [] });
      // A busy machine reads the live rules late.
      const isOfStore = ({ message }: { message: string }) => !message.includes('RL_LIVE_RULES_UNREAD');
      expect(logs.ours().filter((line) => line.level !== 'log' && isOfStore(line))).toEqual([]);
      await service.rules.set('default', { limit: 6 }, { by: 'ops' });
      expect(await service.consume('default', '192.0.2.9')).toMatchObject({ limit: 6 });
      expect(await app.get<Redis>(RATE_LIMIT_REDIS).ping()).toBe('PONG');
    },
    60_000,
  );

  it('is found to be a node of a Cluster by its replies', async () => {
    const cluster = await startCluster({ replicas: false, config: ['rename-command INFO ""'] });
    servers.push({ stop: () => cluster.close() });
    const { service, sources } = await start(cluster.nodes[0]!.url);
    for (let nth = 0; nth < 20; nth += 1) await service.consume('default', `192.0.2.${nth}`);
    expect(sources).toEqual(Array(20).fill('redis'));
  }, 60_000);
});
