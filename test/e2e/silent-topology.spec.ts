import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  RateLimitEvents,
  RateLimitHealth,
  RateLimitModule,
  type RateLimitModuleOptions,
} from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { askServer } from '../support/redis/ask-server.js';
import { startProxy } from '../support/redis/proxy.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

/** Starts an application with a limit of 2. */
async function start(redis: RateLimitModuleOptions['redis']) {
  const rules = { default: { window: '1h', limit: 2, algorithm: 'fixed-window' } } as const;
  const limits = RateLimitModule.forRoot({ redis, rules, prefix: uniquePrefix(), timeout: 10_000 });
  const { app, get } = await startApp({ imports: [limits], controllers: [Routes] }, { framework: 'express' });
  const sources = new Set<string>();
  app.get(RateLimitEvents).on('decision', ({ decision }) => sources.add(decision.source));
  const isDegraded = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit.degraded;
  const decisions = async () => {
    sources.clear();
    const answers = [await get('/'), await get('/'), await get('/')];
    return { statuses: answers.map(({ status }) => status), sources: [...sources] };
  };
  return { isDegraded, decisions };
}

const servers: RedisServer[] = [];
async function serverWith(...config: string[]) {
  const server = await startRedisServer({ config });
  servers.push(server);
  return server;
}

const BY_REDIS = { statuses: [200, 200, 429], sources: ['redis'] };

afterEach(async () => {
  await closeApps();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('one Redis server that does not report at start whether it is a node of a Cluster decides', () => {
  it('a server decides when the user has no right to INFO', async () => {
    const { port } = await serverWith('user limiter on >s3cret ~* &* +@all -info');
    const { isDegraded, decisions } = await start(`redis://limiter:s3cret@127.0.0.1:${port}`);
    expect(await decisions()).toEqual(BY_REDIS);
    expect(await isDegraded()).toBe(false);
  });

  it('a server decides when INFO is renamed', async () => {
    const { port } = await serverWith('rename-command INFO ""');
    const { isDegraded, decisions } = await start({ port, enableReadyCheck: false });
    expect(await decisions()).toEqual(BY_REDIS);
    expect(await isDegraded()).toBe(false);
  });

  it('a server decides when its first replies are later than the start waits', async () => {
    const proxy = await startProxy(await serverWith());
    proxy.each((connection) => connection.delay(3000));
    // Without a handshake, the connection is ready before the first reply.
    const noHandshake = { enableReadyCheck: false, disableClientInfo: true, protocol: 2 } as const;
    const { isDegraded, decisions } = await start({ port: proxy.port, ...noHandshake });
    proxy.each((connection) => connection.delay(0));
    await until(async () => !(await isDegraded()), 'Redis to decide');
    expect(await decisions()).toEqual(BY_REDIS);
    await proxy.close();
  });

  it('a server decides after it was busy with a script of another client', async () => {
    const server = await serverWith('busy-reply-threshold 1');
    const busy = askServer(server, 'EVAL', 'while true do end', '0').catch(() => undefined);
    await until(
      () =>
        askServer(server, 'PING').then(
          () => false,
          (error: unknown) => String(error).includes('BUSY'),
        ),
      'the server to be busy',
    );
    const { isDegraded, decisions } = await start({ port: server.port, enableReadyCheck: false });
    expect(await isDegraded()).toBe(true);
    await askServer(server, 'SCRIPT', 'KILL');
    await busy;
    await until(async () => !(await isDegraded()), 'Redis to decide');
    expect(await decisions()).toEqual(BY_REDIS);
  });
});
