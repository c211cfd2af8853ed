import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitHealth, RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { freePort } from '../support/redis/free-port.mjs';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

type RedisOption = RateLimitModuleOptions['redis'];

const moduleWith = (redis: RedisOption) => ({
  imports: [RateLimitModule.forRoot({ redis, prefix: uniquePrefix() })],
  controllers: [Routes],
});

async function start(redis: RedisOption) {
  const { app, logs } = await startApp(moduleWith(redis), { framework: 'express' });
  const reason = async () => (await app.get(RateLimitHealth).isHealthy()).rateLimit.reason;
  return { logs, reason };
}

/** Servers that are not Redis. */
const listeners: Server[] = [];
async function listen(treat: (socket: Socket) => void): Promise<number> {
  const listener = createServer((socket) => treat(socket.on('error', () => undefined))).listen(
    0,
    '127.0.0.1',
  );
  listeners.push(listener);
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

const HTTP = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n';

describe('the log and health report the cause when `redis` leads to', () => {
  const ports: Record<string, number> = {};
  const servers: RedisServer[] = [];

  beforeAll(async () => {
    const redis = await startRedisServer();
    const monitor = `sentinel monitor mymaster 127.0.0.1 ${redis.port} 1`;
    const all = {
      redis,
      tls: await startRedisServer({ tls: true }),
      sentinel: await startRedisServer({ sentinel: true, config: [monitor] }),
      node: await startRedisServer({ config: ['cluster-enabled yes'] }),
      part: await startRedisServer({ config: ['cluster-enabled yes'] }),
    };
    const node = new Redis(all.part.url);
    await node.cluster('ADDSLOTS', 0);
    await node.quit();
    for (const [name, server] of Object.entries(all)) ports[name] = server.port;
    servers.push(...Object.values(all));
    ports['nothing'] = await freePort();
    ports['silent'] = await listen(() => undefined);
    ports['http'] = await listen((socket) => socket.on('data', () => socket.end(HTTP)));
    ports['ssh'] = await listen((socket) => socket.write('SSH-2.0-OpenSSH_9.2p1\r\n'));
  });
  afterEach(closeApps);
  afterAll(async () => {
    for (const listener of listeners) listener.close();
    await Promise.all(servers.map((server) => server.stop()));
  });

  const sentinels = (name: string) => [{ host: '127.0.0.1', port: ports[name]! }];

  it.each<[string, () => RedisOption, RegExp]>([
    [
      'a server without TLS, by rediss://',
      () => `rediss://127.0.0.1:${ports['redis']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ over TLS \(timed out\); does the server speak TLS\?$/,
    ],
    [
      'a server with TLS, by redis://',
      () => `redis://127.0.0.1:${ports['tls']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ \((ECONNRESET|EPIPE|closed)\); is it a Redis, and does it expect TLS\? Write rediss:\/\/ or tls: \{\} then$/,
    ],
    [
      'a port without a server',
      () => `redis://127.0.0.1:${ports['nothing']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ \(ECONNREFUSED\); no server listens there: start Redis, or correct the host and port in `redis`$/,
    ],
    [
      'a host name that does not exist',
      () => 'redis://redis.invalid:6379',
      /^no connection to Redis at redis\.invalid:6379 \((ENOTFOUND\); the name of the host is unknown: correct it|EAI_AGAIN\); the name of the host could not be resolved: check it) in `redis`/,
    ],
    [
      'a Unix socket that does not exist',
      () => ({ path: '/nowhere/redis.sock' }),
      /^no connection to Redis at \/nowhere\/redis\.sock \(ENOENT\); there is no such Unix socket: start Redis, or correct `path` in `redis`$/,
    ],
    [
      'a server that never answers',
      () => `redis://127.0.0.1:${ports['silent']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ \(timed out\); check the host and port in `redis`, and firewalls$/,
    ],
    [
      'a server that never answers, by rediss://',
      () => `rediss://127.0.0.1:${ports['silent']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ over TLS \(timed out\); does the server speak TLS\?$/,
    ],
    [
      'an HTTP server',
      () => `redis://127.0.0.1:${ports['http']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ \(what it sent is not the protocol of Redis\); correct the port in `redis`$/,
    ],
    [
      'an HTTP server, by rediss://',
      () => `rediss://127.0.0.1:${ports['http']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ over TLS \(what it sent is not TLS\); does the server speak TLS\?$/,
    ],
    [
      'an SSH server',
      () => `redis://127.0.0.1:${ports['ssh']}`,
      /^no connection to Redis at 127\.0\.0\.1:\d+ \(what it sent is not the protocol of Redis\); correct the port in `redis`$/,
    ],
    [
      'a node of a Redis Cluster that was never created',
      () => `redis://127.0.0.1:${ports['node']}`,
      /^Redis at 127\.0\.0\.1:\d+ is a node of a Redis Cluster that serves no slots \(CLUSTERDOWN\); create the Cluster, or let the node join it$/,
    ],
    [
      'a node of a Redis Cluster that is down',
      () => `redis://127.0.0.1:${ports['part']}`,
      /^Redis at 127\.0\.0\.1:\d+ belongs to a Cluster that is down \(CLUSTERDOWN\)$/,
    ],
    [
      'Sentinels that monitor no such master',
      () => ({ sentinels: sentinels('sentinel'), name: 'yourmaster' }),
      /^no connection to Redis at Sentinel "yourmaster" \(no such master\); set `name` to one that the Sentinels monitor$/,
    ],
    [
      'servers that are no Sentinels',
      () => ({ sentinels: sentinels('redis'), name: 'mymaster' }),
      /^no connection to Redis at Sentinel "mymaster" \(the servers in `sentinels` are no Sentinels\)$/,
    ],
    [
      'Sentinels that never answer',
      () => ({ sentinels: sentinels('silent'), name: 'mymaster' }),
      /^no connection to Redis at Sentinel "mymaster" \(timed out\); check the host and port in `redis`, and firewalls$/,
    ],
  ])('%s', async (_title, redis, expected) => {
    const { logs, reason } = await start(redis());
    await until(async () => expected.test((await reason()) ?? ''), 'health to report it').catch(
      () => undefined,
    );
    expect(await reason()).toMatch(expected);
    expect(logs.ours()).toHaveLength(1);
    expect(logs.ours()[0]!.message).toContain(`(${await reason()})`);
  });

  const isSentinel = (port: number) =>
    `Redis at 127.0.0.1:${port} is a Sentinel and decides nothing; write redis: { sentinels: [{ host: "127.0.0.1", port: ${port} }], name: "mymaster" }`;

  it('a Sentinel as server stops the application with the cause', async () => {
    const message = await refusalToStart(moduleWith(`redis://127.0.0.1:${ports['sentinel']}`));
    expect(message).toBe(`redis: ${isSentinel(ports['sentinel']!)}`);
  });

  it('a Sentinel that is first reached after the start is reported in log and health', async () => {
    const sentinel = servers.find(({ port }) => port === ports['sentinel'])!;
    await sentinel.kill();
    const { logs, reason } = await start(sentinel.url);
    await sentinel.restart();
    const expected = isSentinel(sentinel.port);
    await until(async () => (await reason()) === expected, 'health to report it');
    expect(logs.ours().at(-1)).toMatchObject({
      level: 'error',
      message: expect.stringContaining(expected),
    });
  });
});
