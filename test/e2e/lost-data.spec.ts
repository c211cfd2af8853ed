import { Controller, Get } from '@nestjs/common';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimitEvents, RateLimitHealth, RateLimitModule, RateLimitService } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { RateLimitThrottlerStorage } from '../../lib/throttler.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const closers: (() => unknown)[] = [];

afterEach(async () => {
  await closeApps();
  for (const close of closers.splice(0).reverse()) await close();
});

async function startServer(...config: string[]): Promise<RedisServer> {
  const server = await startRedisServer({ config });
  closers.push(() => server.stop());
  return server;
}

function clientOf(server: Pick<RedisServer, 'url'>): Redis {
  const client = new Redis(server.url);
  closers.push(() => client.disconnect());
  return client;
}

/** Starts an application, and waits until its heartbeat is in Redis. */
async function start(redis: string) {
  const limits = RateLimitModule.forRoot({
    redis,
    rules: { default: { window: '1h', limit: 5, algorithm: 'gcra' } },
    timeout: 10_000,
    denyCache: false,
  });
  const { app, logs } = await startApp(
    { imports: [limits], controllers: [Routes] },
    { framework: 'express' },
  );
  const lost: string[] = [];
  app.get(RateLimitEvents).on('dataLost', ({ server }) => lost.push(server));
  const warnings = () => logs.ours().filter(({ message }) => message.includes('RL_DATA_LOST'));
  const codes = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit.warnings;
  return { limits: app.get(RateLimitService), lost, warnings, codes };
}

async function beats(client: Redis): Promise<number> {
  const members = await client.zrange('rl:{instances}', '0', '-1');
  const scores = await Promise.all(members.map((member) => client.zscore('rl:{instances}', member)));
  return Math.max(0, ...scores.map(Number));
}

describe('counters that Redis has lost', () => {
  it.each(['FLUSHALL', 'FLUSHDB', 'SWAPDB 0 1'])(
    '%s is reported once, in the log, as an event and in health',
    async (command) => {
      const server = await startServer();
      const client = clientOf(server);
      const { limits, lost, warnings, codes } = await start(server.url);
      await until(async () => (await beats(client)) > 0, 'a heartbeat');
      for (let nth = 0; nth < 5; nth += 1) await limits.consume('default', 'ann');
      expect(await limits.consume('default', 'ann')).toMatchObject({ allowed: false });
      const [name, ...args] = command.split(' ');
      await client.call(name!, ...args);
      await until(() => lost.length > 0, 'the event', 20_000);
      expect(await limits.consume('default', 'ann')).toMatchObject({ allowed: true });
      const before = await beats(client);
      await until(async () => (await beats(client)) > before, 'the next heartbeat', 20_000);
      expect(lost).toEqual(['']);
      expect(warnings()).toEqual([
        { level: 'warn', message: expect.stringMatching(/^Redis has lost data that /) },
      ]);
      expect(await codes()).toContain('RL_DATA_LOST');
    },
    60_000,
  );

  it('a restart with an older RDB file is reported, although the file has a heartbeat', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const { lost } = await start(server.url);
    await until(async () => (await beats(client)) > 0, 'a heartbeat');
    await client.call('SAVE');
    const saved = await beats(client);
    await until(async () => (await beats(client)) > saved, 'a later heartbeat', 20_000);
    await server.kill();
    await server.restart();
    await until(() => lost.length > 0, 'the event', 20_000);
  }, 60_000);

  it('a restart without data is reported, also after an outage that outlasts every heartbeat', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const { lost } = await start(server.url);
    await until(async () => (await beats(client)) > 0, 'a heartbeat');
    const validUntil = (await beats(client)) / 1000;
    await server.kill();
    await until(() => Date.now() > validUntil + 6000, 'the end of every heartbeat', 30_000);
    await server.restart();
    await until(() => lost.length > 0, 'the event', 20_000);
  }, 60_000);

  it('FLUSHDB of another database is not reported', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const { lost, codes } = await start(`${server.url}/3`);
    await client.select(3);
    await until(async () => (await beats(client)) > 0, 'a heartbeat');
    const before = await beats(client);
    await client.select(0);
    await client.flushdb();
    await client.select(3);
    await until(async () => (await beats(client)) > before, 'the next heartbeat', 20_000);
    expect([lost, await codes()]).toEqual([[], []]);
    await client.flushdb();
    await until(() => lost.length > 0, 'the event', 20_000);
  }, 60_000);

  it('two limiters of one store report no loss', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const store = await RedisStore.open({ redis: server.url });
    closers.push(() => store.close());
    const lost: string[] = [];
    for (let nth = 1; nth <= 2; nth += 1) {
      const limiter = new RateLimiter({ store });
      closers.push(() => limiter.close());
      limiter.events.on('dataLost', ({ server: lossy }) => lost.push(lossy));
      await until(async () => (await client.zcard('rl:{instances}')) === nth, 'a heartbeat');
    }
    const before = await beats(client);
    await until(async () => (await beats(client)) > before + 2e6, 'further heartbeats', 20_000);
    expect(lost).toEqual([]);
  }, 60_000);

  it('eviction under a flood is reported', async () => {
    const server = await startServer('maxmemory 3mb', 'maxmemory-policy allkeys-random');
    const { limits, lost } = await start(server.url);
    let nth = 0;
    await until(
      async () => {
        await Promise.all(
          Array.from({ length: 500 }, () => limits.consume('default', `guest-${(nth += 1)}`)),
        );
        return lost.length > 0;
      },
      'the event',
      40_000,
    );
  }, 60_000);

  it('each shard of a Cluster that loses its data is reported, and no other', async () => {
    const cluster = await startCluster({ replicas: false });
    closers.push(() => cluster.close());
    const clients = cluster.nodes.map(clientOf);
    const { lost, warnings } = await start(cluster.nodes[0]!.url);
    const keysOf = async (client: Redis) => await client.keys('rl:{instances*}');
    await until(async () => {
      const keys = await Promise.all(clients.map(keysOf));
      return keys.every(({ length }) => length === 1);
    }, 'a heartbeat on each shard');
    await Promise.all(clients.slice(1).map((client) => client.flushall()));
    await until(() => lost.length > 1, 'the events', 20_000);
    const flushed = cluster.nodes.slice(1).map(({ host, port }) => `${host}:${port}`);
    expect([...lost].sort()).toEqual(flushed.sort());
    expect(warnings()).toHaveLength(2);
  }, 60_000);

  it('no loss is reported when Redis restarts with its data', async () => {
    const server = await startServer('appendonly yes', 'appendfsync always');
    const client = clientOf(server);
    const { lost } = await start(server.url);
    await until(async () => (await beats(client)) > 0, 'a heartbeat');
    await server.kill();
    await server.restart();
    const before = await beats(client);
    await until(async () => (await beats(client)) > before, 'the next heartbeat', 20_000);
    expect(lost).toEqual([]);
  }, 60_000);
});

describe('two applications that share counters', () => {
  const startNamed = async (redis: string, application: string | undefined, prefix = 'rl:') => {
    const { app, logs, close } = await startApp(
      { imports: [RateLimitModule.forRoot({ redis, application, prefix })], controllers: [Routes] },
      { framework: 'express' },
    );
    const codes = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit.warnings;
    return { logs, codes, close };
  };

  it('are warned of by name, until one of them has ended', async () => {
    const server = await startServer();
    const shop = await startNamed(server.url, 'shop');
    const blog = await startNamed(server.url, 'blog');
    for (const { codes } of [shop, blog]) {
      await until(async () => (await codes()).includes('RL_PREFIX_SHARED'), 'the warning', 20_000);
    }
    const [line] = blog.logs.ours().filter(({ message }) => message.includes('RL_PREFIX_SHARED'));
    expect(line).toMatchObject({
      level: 'warn',
      message: expect.stringContaining(
        'The applications "blog" and "shop" use the prefix "rl:" in one Redis',
      ),
    });
    await blog.close();
    await until(async () => (await shop.codes()).length === 0, 'no warning', 20_000);
  }, 60_000);

  it('are not warned of with one name or two prefixes, and have the name of their package.json by default', async () => {
    const server = await startServer();
    const client = clientOf(server);
    const apps = [
      await startNamed(server.url, undefined),
      await startNamed(server.url, 'nestjs-redis-rate-limit'),
      await startNamed(server.url, 'blog', 'blog:'),
    ];
    await until(async () => (await client.zcard('rl:{instances}')) === 2, 'the heartbeats');
    const before = await beats(client);
    await until(async () => (await beats(client)) > before, 'the next heartbeat', 20_000);
    for (const { codes } of apps) expect(await codes()).toEqual([]);
  }, 60_000);

  it('are warned of by the storage for throttler too', async () => {
    const server = await startServer();
    const storages = ['shop', 'blog'].map(
      (application) => new RateLimitThrottlerStorage({ redis: server.url, application }),
    );
    closers.push(() => Promise.all(storages.map((storage) => storage.onApplicationShutdown())));
    const { logs } = await startApp({ controllers: [Routes] }, { framework: 'express' });
    for (const storage of storages) await storage.onApplicationBootstrap();
    await until(
      () => logs.ours().some(({ message }) => message.includes('RL_PREFIX_SHARED')),
      'the warning',
      20_000,
    );
  }, 60_000);
});
