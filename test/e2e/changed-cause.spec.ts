import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitEvents, RateLimitHealth, RateLimitModule } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { askServer } from '../support/redis/ask-server.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

async function start(redis: string, timeout = 10_000) {
  const limits = RateLimitModule.forRoot({ redis, prefix: uniquePrefix(), timeout });
  const { app, logs } = await startApp(
    { imports: [limits], controllers: [Routes] },
    { framework: 'express' },
  );
  const turns: string[] = [];
  app.get(RateLimitEvents).on('breaker', ({ state }) => turns.push(state));
  const health = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit;
  return { logs, turns, health };
}

const servers: RedisServer[] = [];
afterEach(async () => {
  await closeApps();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const CASES = [
  {
    title: 'requires a password then',
    options: { password: 's3cret', config: [] },
    level: 'error',
    reason: /requires a password \(NOAUTH\)/,
    fix: ['requirepass', ''],
  },
  {
    title: 'lacks replicas then',
    options: { config: ['min-replicas-to-write 1'] },
    level: 'warn',
    reason: /has too few replicas to accept writes \(NOREPLICAS\)/,
    fix: ['min-replicas-to-write', '0'],
  },
] as const;

describe('a Redis that fails and recovers', () => {
  it.each(CASES)(
    'a changed cause of an outage is reported in health and by one log line: $title',
    async (each) => {
      const gone = await startRedisServer();
      const { logs, turns, health } = await start(gone.url);
      await gone.stop();
      await until(async () => (await health()).degraded, 'the breaker to open');
      const server = await startRedisServer({
        port: gone.port,
        ...each.options,
        config: [...each.options.config],
      });
      servers.push(server);
      await until(
        async () => each.reason.test((await health()).reason ?? ''),
        'health to report the new cause',
      );
      expect((await health()).servers).toEqual([{ server: '', reason: expect.stringMatching(each.reason) }]);
      await askServer(server, 'CONFIG', 'SET', ...each.fix);
      await until(async () => (await health()).servers.length === 0, 'Redis to decide');
      // The second server lacks the heartbeats of the first. This is noticed before or after.
      expect(logs.ours().filter(({ message }) => !message.includes('RL_DATA_LOST'))).toEqual([
        {
          level: 'warn',
          message: expect.stringContaining(`no connection to Redis at 127.0.0.1:${gone.port}`),
        },
        { level: each.level, message: expect.stringMatching(each.reason) },
        { level: 'log', message: 'Redis decides again.' },
      ]);
      expect(turns).toEqual(['open', 'closed']);
    },
  );

  it('a Redis that hangs after a reconnect is not reported with the previous cause', async () => {
    const server = await startRedisServer();
    servers.push(server);
    await server.kill();
    const { health } = await start(server.url, 50);
    await until(async () => ((await health()).reason ?? '').includes('ECONNREFUSED'), 'the breaker to open');
    await server.restart();
    await until(async () => (await health()).servers.length === 0, 'Redis to decide');
    await server.pause();
    const reasons: unknown[] = [];
    await until(async () => {
      const { servers: open } = await health();
      reasons.push(...open.map(({ reason }) => reason));
      return /connection|2000 ms/.test(String(reasons.at(-1)));
    }, 'the connection to be given up');
    const redis = `Redis at 127.0.0.1:${server.port}`;
    const causes = [50, 2000].map((ms) => `${redis}: no reply within ${ms} ms`);
    // Without "(ECONNREFUSED)", which was the previous cause.
    expect([...causes, `no connection to ${redis}`]).toEqual(expect.arrayContaining([...new Set(reasons)]));
    expect(reasons).toContain(causes[0]);
  });
});
