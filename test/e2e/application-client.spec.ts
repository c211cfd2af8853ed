import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RATE_LIMIT_REDIS, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, startApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { until } from '../support/redis/until.mjs';

const clients: { disconnect(): void }[] = [];

afterEach(async () => {
  await closeApps();
  for (const client of clients.splice(0)) client.disconnect();
});

async function untilClosed(client: Redis | Cluster | null, servers: readonly RedisServer[]): Promise<void> {
  await until(() => Promise.resolve(client?.status === 'end'), 'the client to be closed');
  for (const server of servers) {
    await until(async () => (await connections(server)) === 0, 'no connection of the application');
  }
}

async function start(redis: RateLimitModuleOptions['redis'], timeout = 10_000) {
  const options = { redis, timeout };
  const { app, close } = await startApp(
    { imports: [RateLimitModule.forRoot(options)] },
    { framework: 'express' },
  );
  return { client: app.get<Redis | Cluster | null>(RATE_LIMIT_REDIS), close };
}

/** The number of clients of a server besides the one that asks. */
async function connections(server: RedisServer): Promise<number> {
  const admin = new Redis(server.url);
  try {
    const list = String(await admin.client('LIST'));
    return list.split('\n').filter((line) => line !== '' && !line.includes(' flags=M ')).length - 1;
  } finally {
    admin.disconnect();
  }
}

describe('RATE_LIMIT_REDIS with a single server', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  it.each([
    ['a URL', () => `${server.url}/2?commandTimeout=12345&lazyConnect=false`],
    ['ioredis options', () => ({ host: server.host, port: server.port, db: 2, commandTimeout: 12_345 })],
  ])('RATE_LIMIT_REDIS is a client of its own with the options of %s', async (_title, redis) => {
    const { client, close } = await start(redis());
    expect(client).toBeInstanceOf(Redis);
    expect(client!.status).toBe('wait'); // it connects with its first command
    expect(await client!.set('answer', '42')).toBe('OK');
    expect(client!.options).toMatchObject({ db: 2, enableOfflineQueue: true, maxRetriesPerRequest: 20 });
    expect(Number((client!.options as { commandTimeout?: number }).commandTimeout)).toBe(12_345);
    await close();
    await untilClosed(client, [server]);
  });

  it('a client that was never used makes no connection and is closed with the application', async () => {
    const { client, close } = await start(server.url);
    await close();
    await untilClosed(client, [server]);
  });

  it('pending commands of RATE_LIMIT_REDIS finish before the application closes it', async () => {
    const { client, close } = await start(server.url);
    await client!.set('before', '1');
    const pending = client!.get('before');
    await close();
    expect(await pending).toBe('1');
  });

  it('a client that the application closed itself does not keep it from closing', async () => {
    const { client, close } = await start(server.url);
    await client!.set('before', '1');
    await client!.quit();
    await close();
    await untilClosed(client, [server]);
  });

  it("RATE_LIMIT_REDIS is the user's own client, which stays open", async () => {
    const mine = new Redis(server.url);
    clients.push(mine);
    const { client, close } = await start(mine);
    expect(client).toBe(mine);
    await close();
    expect(mine.status).toBe('ready');
    expect(await mine.ping()).toBe('PONG');
  });

  it('an application closes in time while the server of RATE_LIMIT_REDIS does not reply', async () => {
    const { client, close } = await start(server.url, 100);
    await client!.ping();
    await server.pause();
    try {
      const pending = client!.ping().catch((error: unknown) => (error as Error).message);
      await close();
      expect(await pending).toBe('Connection is closed.');
    } finally {
      await server.resume();
    }
  });
});

it('RATE_LIMIT_REDIS is null when limits are counted in memory', async () => {
  expect((await start(undefined)).client).toBeNull();
});

describe('RATE_LIMIT_REDIS with a Redis Cluster', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
  });
  afterAll(() => cluster.close());

  it('RATE_LIMIT_REDIS is a Cluster when the URL leads to one of its nodes', async () => {
    const { client, close } = await start(cluster.nodes[0]!.url);
    expect(client).toBeInstanceOf(Cluster);
    const written = Array.from({ length: 50 }, async (_, nth) => client!.set(`key-${nth}`, nth));
    expect(new Set(await Promise.all(written))).toEqual(new Set(['OK']));
    await close();
    await untilClosed(client, cluster.nodes);
  });

  it("RATE_LIMIT_REDIS is the user's own Cluster, which stays open", async () => {
    const mine = new Cluster(cluster.startNodes);
    clients.push(mine);
    const { client, close } = await start(mine);
    expect(client).toBe(mine);
    await close();
    expect(await mine.set('mine', '1')).toBe('OK');
  });
});
