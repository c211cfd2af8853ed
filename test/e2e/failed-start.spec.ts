import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

it('an application that an invalid rule stops at start closes its connections, and is not counted', async () => {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  try {
    const rules = { default: { window: '1m' } as never };
    const imports = [RateLimitModule.forRoot({ redis: server.url, rules })];
    const app = (await Test.createTestingModule({ imports }).compile()).createNestApplication();
    await expect(app.init()).rejects.toThrow('rules.default');
    const connections = async () =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n');
    await until(async () => (await connections()).length === 1, 'the connections to be closed');
    expect(await admin.keys('*instances*')).toEqual([]);
  } finally {
    admin.disconnect();
    await server.stop();
  }
});

it('an application whose service is overridden is stopped with what to write instead', async () => {
  const imports = [RateLimitModule.forRoot({ rules: { default: { window: '1m', limit: 3 } } })];
  const builder = Test.createTestingModule({ imports });
  builder.overrideProvider(RateLimitService).useValue({ consume: () => undefined });
  const app = (await builder.compile()).createNestApplication();
  await expect(app.init()).rejects.toThrow('RateLimitService: overridden');
});
