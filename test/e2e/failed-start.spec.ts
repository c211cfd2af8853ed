import { expect, it } from '@jest/globals';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

/** Expects that an application with a rule does not start, and has no connection to Redis then. */
async function leavesNothingOpen(
  rule: object,
  problem: string,
  prepare = (builder: TestingModuleBuilder): TestingModuleBuilder => builder,
): Promise<void> {
  const server = await startRedisServer();
  const admin = new Redis(server.url);
  try {
    const imports = [RateLimitModule.forRoot({ redis: server.url, rules: { default: rule as never } })];
    const builder = prepare(Test.createTestingModule({ imports }));
    const app = (await builder.compile()).createNestApplication();
    await expect(app.init()).rejects.toThrow(problem);
    const connections = async () =>
      String(await admin.client('LIST'))
        .trim()
        .split('\n');
    await until(async () => (await connections()).length === 1, 'the connections to be closed');
    expect(await admin.keys('*instances*')).toEqual([]);
    await app.close();
  } finally {
    admin.disconnect();
    await server.stop();
  }
}

it('an application that an invalid rule stops at start closes its connections, and is not counted', async () => {
  await leavesNothingOpen({ window: '1m' }, 'rules.default');
});

it('an application whose service is overridden is stopped with what to write instead, and can be closed', async () => {
  await leavesNothingOpen({ window: '1m', limit: 3 }, 'RateLimitService: overridden', (builder) =>
    builder.overrideProvider(RateLimitService).useValue({ consume: () => undefined }),
  );
});
