import { expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import { ProcessReports } from '../../lib/dashboard/collect/process-reports.js';
import { RateLimitModule } from '../../lib/index.js';
import { LiveRules } from '../../lib/nest/live-rules.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { LogLines } from '../support/log-lines.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';

it('an application that is closed while it starts opens no connection, which would keep the process from exiting', async () => {
  const server = await startRedisServer();
  const liveRules = new RedisRuleSource({ redis: server.url });
  const followed = jest.spyOn(liveRules, 'watch');
  const imports = [
    RateLimitModule.forRoot({ redis: server.url, rules: {}, liveRules }),
    RateLimitDashboardModule.forRoot(),
  ];
  const module = await Test.createTestingModule({ imports }).setLogger(new LogLines()).compile();
  const { follower } = module.get(LiveRules);
  const started = follower!.start();
  await follower!.close();
  await started;
  const reports = module.get(ProcessReports);
  const initialized = reports.onModuleInit();
  await reports.onApplicationShutdown();
  await initialized;
  expect(followed).not.toHaveBeenCalled();
  expect(reports.records).toBeUndefined();
  await module.close();
  await server.stop();
});
