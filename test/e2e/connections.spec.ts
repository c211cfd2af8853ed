import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RateLimitDashboardModule } from '../../lib/dashboard.js';
import { RedisRuleSource } from '../../lib/redis.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const BY = { by: 'ops@example.com' };

interface Parts {
  readonly liveRules?: RedisRuleSource;
  readonly page?: boolean;
}

describe('the connections of a process to a Redis', () => {
  let server: RedisServer;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedisServer();
    admin = new Redis(server.url);
  });
  afterEach(async () => {
    await closeApps();
    await admin.flushall();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  /** Returns the number of connections besides that of this spec. */
  const count = async () =>
    String(await admin.client('LIST'))
      .trim()
      .split('\n').length - 1;

  /** Starts an application, and denies a request, so that the end of the denial is followed. */
  async function start({ liveRules, page = false }: Parts) {
    const limits = RateLimitModule.forRoot({
      redis: server.url,
      onDemand: { login: { window: '1h', limit: 1, by: 'ip' } },
      timeout: 10_000,
      ...(liveRules && { liveRules }),
    });
    const imports = page ? [limits, RateLimitDashboardModule.forRoot()] : [limits];
    const { app, close } = await startApp({ imports, controllers: [Routes] }, { framework: 'express' });
    const service = app.get(RateLimitService);
    await until(async () => !(await service.consume('login', '192.0.2.1')).allowed, 'a denial');
    const untilLimit = (limit: number) =>
      until(async () => (await service.peek('login', '192.0.2.2')).limit === limit, `limit ${limit}`);
    return { service, close, untilLimit };
  }

  const sourceOf = (redis: ConstructorParameters<typeof RedisRuleSource>[0]['redis'] = server.url) =>
    new RedisRuleSource({ redis });

  it.each([
    ['a plain application', 2, () => ({})],
    ['one with the page', 3, () => ({ page: true })],
    ['one with live rules', 3, () => ({ liveRules: sourceOf() })],
    ['one with live rules and the page', 3, () => ({ liveRules: sourceOf(), page: true })],
  ] as const)('%s has %d', async (_application, most, parts: () => Parts) => {
    const { service } = await start(parts());
    if (parts().liveRules) await service.rules.set('login', { limit: 5 }, BY);
    await until(async () => (await count()) === most, `${most} connections`);
    const { total_commands_processed: before } = await stats();
    await until(async () => (await stats()).total_commands_processed > before + 20, 'further commands');
    expect(await count()).toBe(most);
  });

  async function stats(): Promise<{ readonly total_commands_processed: number }> {
    const info = await admin.info('stats');
    return { total_commands_processed: Number(/total_commands_processed:(\d+)/.exec(info)![1]) };
  }

  it('an application that closes leaves the live rules of another one in the same process alone', async () => {
    const shared = sourceOf();
    const first = await start({ liveRules: sourceOf(), page: true });
    const others = [await start({ liveRules: shared }), await start({ liveRules: shared, page: true })];
    await until(
      async () => (await count()) === 7,
      'one connection for live rules and pages, and two for each',
    );
    await first.close();
    await others[0]!.close();
    await until(async () => (await count()) === 3, 'the connections of the last application');
    const [, last] = others;
    await last!.service.rules.set('login', { limit: 7 }, BY);
    await last!.untilLimit(7);
    await last!.close();
    await until(async () => (await count()) === 0, 'no connection');
  });

  it('another database, and a client with a prefix of its own, have connections of their own', async () => {
    const client = new Redis(server.url, { keyPrefix: 'own:' });
    const sources = [sourceOf(), sourceOf(`${server.url}/1`), sourceOf(client), sourceOf(client)];
    for (const [nth, source] of sources.entries()) {
      await source.write({ rule: 'login', fields: { limit: nth + 1 }, ...BY });
    }
    expect(await count()).toBe(4); // with the client itself
    const limits = await Promise.all(sources.map(async (source) => (await source.load()).entries[0]!.fields));
    expect(limits).toEqual([{ limit: 1 }, { limit: 2 }, { limit: 4 }, { limit: 4 }]);
    await Promise.all(sources.map((source) => source.close()));
    client.disconnect();
    await until(async () => (await count()) === 0, 'no connection');
  });
});
