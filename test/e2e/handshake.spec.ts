import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitHealth, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const RIGHTS = ['~*', '&*', '+@all'];

describe('a command that ioredis sends when it connects', () => {
  let server: RedisServer;
  let admin: Redis;
  const clients: Redis[] = [];

  beforeAll(async () => {
    server = await startRedisServer({ config: ['databases 16'] });
    admin = new Redis(server.url);
  });
  afterEach(async () => {
    await closeApps();
    for (const client of clients.splice(0)) client.disconnect();
    await admin.flushall();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  async function start(redis: RateLimitModuleOptions['redis']) {
    const rules = { default: { window: '1h', limit: 2, algorithm: 'fixed-window' } } as const;
    const imports = [RateLimitModule.forRoot({ redis, rules, timeout: 10_000 })];
    const started = await startApp({ imports, controllers: [Routes] }, { framework: 'express' });
    const health = async () => (await started.app.get(RateLimitHealth).isHealthy()).rateLimit;
    const { events } = started.app.get(RateLimiter);
    const sources: string[] = [];
    events.on('decision', ({ decision }) => sources.push(decision.source));
    return { ...started, events, health, sources };
  }

  function owned(client: Redis): Redis {
    client.on('error', () => undefined);
    clients.push(client);
    return client;
  }

  const countersIn = async (db: number) => {
    await admin.select(db);
    const keys = await admin.keys('*:default@*');
    await admin.select(0);
    return keys.length;
  };

  const place = () => ({ host: server.host, port: server.port });

  it.each([
    ['a URL', () => `${server.url}/99`],
    ['the query of a URL', () => `${server.url}?db=99`],
    ['options', () => ({ ...place(), db: 99 })],
    ['options without a ready check', () => ({ ...place(), db: 99, enableReadyCheck: false })],
    ["a user's client", () => owned(new Redis({ ...place(), db: 99 }))],
  ])('a rejected SELECT of a database that does not exist is reported: %s', async (_title, redis) => {
    const { get, logs, health, sources } = await start(redis());
    const reason = `Redis at 127.0.0.1:${server.port} rejects database 99: ERR DB index is out of range (SELECT)`;
    expect(logs.ours()).toMatchObject([{ level: 'error', message: expect.stringContaining(reason) }]);
    await get('/');
    expect(sources).toEqual(['fallback']);
    expect(await health()).toMatchObject({ degraded: true, reason, servers: [{ server: '', reason }] });
    expect(await countersIn(0)).toBe(0);
  });

  it('a rejected SELECT of a user without the right to it is reported', async () => {
    await admin.call('ACL', 'SETUSER', 'limiter', 'reset', 'on', '>s3cret', ...RIGHTS, '-select');
    const { get, logs, health, sources } = await start(`redis://limiter:s3cret@127.0.0.1:${server.port}/3`);
    await get('/');
    expect(sources).toEqual(['fallback']);
    expect(await health()).toMatchObject({
      degraded: true,
      reason: expect.stringContaining('does not permit the command SELECT (NOPERM); see "Access"'),
    });
    expect(logs.ours()).toMatchObject([{ level: 'error' }]);
    expect(await countersIn(0)).toBe(0);
  });

  it('a SELECT that is rejected later is reported and repeated until the server accepts it', async () => {
    await admin.call('ACL', 'SETUSER', 'limiter', 'reset', 'on', '>s3cret', ...RIGHTS);
    const { get, events, health, sources } = await start(`redis://limiter:s3cret@127.0.0.1:${server.port}/3`);
    await get('/');
    await admin.call('ACL', 'SETUSER', 'limiter', '-select');
    await admin.client('KILL', 'USER', 'limiter');
    await get('/');
    expect(await health()).toMatchObject({ degraded: true });
    await admin.call('ACL', 'SETUSER', 'limiter', '+select');
    await until(() => events.openCircuits.size === 0, 'the breaker to close');
    expect((await get('/')).status).toBe(200);
    expect((await get('/')).status).toBe(429);
    expect(sources).toEqual(['redis', 'fallback', 'redis', 'redis']);
    expect([await countersIn(0), await countersIn(3)]).toEqual([0, 1]);
  });

  it.each([
    ['CLIENT SETNAME, of a name that Redis does not take', () => ({ ...place(), connectionName: 'a name' })],
    ['AUTH, by a server that asks for no password', () => ({ ...place(), password: 's3cret' })],
    [
      'CLIENT, without the right to it',
      async () => {
        await admin.call('ACL', 'SETUSER', 'limiter', 'reset', 'on', '>s3cret', ...RIGHTS, '-client');
        return { ...place(), username: 'limiter', password: 's3cret', connectionName: 'limiter' };
      },
    ],
  ])('a rejected command of the handshake changes no decision: %s', async (_title, redis) => {
    const { get, health, sources } = await start(await redis());
    const statuses = [];
    for (let nth = 1; nth <= 3; nth++) statuses.push((await get('/')).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect(sources).toEqual(['redis', 'redis', 'redis']);
    expect(await health()).toMatchObject({ degraded: false });
  });
});
