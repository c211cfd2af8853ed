import { once } from 'node:events';
import { inspect } from 'node:util';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimitHealth, RateLimitModule, type RateLimitModuleOptions, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { startRedisServer, type RedisServer } from '../support/redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { until } from '../support/redis/until.mjs';

@Controller()
class Routes {
  @Get() get() {}
}

const RULES: RateLimitModuleOptions = {
  rules: { default: { window: '1m', limit: 2, algorithm: 'fixed-window' } },
  timeout: 10_000,
};

const moduleWith = (options: RateLimitModuleOptions) => ({
  imports: [RateLimitModule.forRoot({ ...RULES, prefix: uniquePrefix(), ...options })],
  controllers: [Routes],
});

async function start(options: RateLimitModuleOptions) {
  const started = await startApp(moduleWith(options), { framework: 'express' });
  const health = async () => (await started.app.get(RateLimitHealth).isHealthy()).rateLimit;
  return { ...started, health };
}

afterEach(closeApps);

describe('a Redis that rejects the limiter', () => {
  const servers: RedisServer[] = [];
  const serverWith = async (...config: string[]) => {
    const server = await startRedisServer({ config });
    servers.push(server);
    return server;
  };

  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it.each([
    [
      'scripts are not permitted',
      ['user limiter on >s3cret ~* &* +@all -fcall -evalsha -eval'],
      /does not permit the command EVAL(SHA)? \(NOPERM\); see "Access" in docs\/operations.md/,
    ],
    [
      'the keys are not permitted',
      ['user limiter on >s3cret ~other:* &* +@all'],
      /does not permit the keys of the limiter \(NOPERM\)/,
    ],
    [
      'a command inside of scripts is not permitted',
      ['user limiter on >s3cret ~* &* +@all -set'],
      /does not permit .* \(NOPERM\)/,
    ],
    [
      'scripts are renamed away',
      [
        'user limiter on >s3cret ~* &* +@all',
        ...['FCALL', 'EVALSHA', 'EVAL'].map((name) => `rename-command ${name} ""`),
      ],
      /does not have the command EVAL/,
    ],
    ['the password is wrong', ['user limiter on >other ~* &* +@all'], /rejects .* \(WRONGPASS\)/],
  ])('a Redis that rejects the limiter is reported at start when %s', async (_title, config, reason) => {
    const { port } = await serverWith(...config);
    const { logs, health, get } = await start({ redis: `redis://limiter:s3cret@127.0.0.1:${port}` });
    await get('/');
    // The first heartbeat may fail before the breaker opens. It is then logged separately.
    const [line, ...others] = logs.ours().filter(({ message }) => !message.includes('could not count'));
    expect(line).toMatchObject({ level: 'error', message: expect.stringMatching(reason) });
    expect(line!.message).toContain(`Redis at 127.0.0.1:${port}`);
    expect(others).toEqual([]);
    expect(await health()).toMatchObject({
      status: 'up',
      degraded: true,
      reason: expect.stringMatching(reason),
      servers: [{ server: '', reason: expect.stringMatching(reason) }],
    });
    expect(JSON.stringify([logs.lines, await health()])).not.toContain('s3cret');
  });

  it.each([
    ['a wrong password', 'limiter:s3cret'],
    ['a wrong password of the user without a name', ':s3cret'],
  ])('events about a rejected limiter contain no password: %s', async (_title, login) => {
    const { port } = await serverWith('requirepass other', 'user limiter on >other ~* &* +@all');
    const store = new RedisStore({ redis: `redis://${login}@127.0.0.1:${port}`, timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    const events: unknown[] = [];
    for (const name of ['breaker', 'storeError'] as const)
      limiter.events.on(name, (event) => events.push(event));
    await limiter.consume({ window: '1m', limit: 2 }, 'ann');
    expect(events).toHaveLength(2);
    expect(inspect(events, { depth: Infinity, showHidden: true })).toContain('WRONGPASS');
    expect(inspect(events, { depth: Infinity, showHidden: true })).not.toContain('s3cret');
    await limiter.close();
    await store.close();
  });

  it('a server without TLS is reported as such for a rediss:// URL', async () => {
    const server = await serverWith();
    const { logs, health } = await start({ redis: server.url.replace('redis:', 'rediss:') });
    const reason = `no connection to Redis at 127.0.0.1:${server.port} over TLS`;
    expect(logs.ours()).toMatchObject([{ level: 'warn', message: expect.stringContaining(reason) }]);
    expect((await health()).reason).toContain(reason);
  });

  it('a missing server is reported with its cause, and health is down if configured', async () => {
    const server = await serverWith();
    await server.kill();
    const { logs, health } = await start({ redis: server.url, health: { fallbackIsDown: true } });
    const reason = `no connection to Redis at 127.0.0.1:${server.port} (ECONNREFUSED); no server listens there: start Redis, or correct the host and port in \`redis\``;
    expect(logs.ours()).toHaveLength(1);
    expect(logs.ours()[0]!.message).toMatch(/^Redis could not decide \(no connection to Redis at /);
    expect(await health()).toMatchObject({ status: 'down', degraded: true, reason });
  });
});

describe('one node of a Redis Cluster', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
  });
  afterAll(() => cluster.close());

  it.each([
    ['a URL', () => cluster.nodes[0]!.url],
    ['options', () => ({ host: cluster.nodes[0]!.host, port: cluster.nodes[0]!.port })],
  ])(
    'one node of a Cluster is connected as a Cluster by %s, so that users on every node are limited',
    async (_title, redis) => {
      const { app, health } = await start({ redis: redis() });
      const limiter = app.get(RateLimiter);
      const rule: Rule = { window: '1m', limit: 2, algorithm: 'fixed-window' };
      for (const subject of ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']) {
        const remaining = [];
        for (let nth = 1; nth <= 3; nth++) remaining.push((await limiter.consume(rule, subject)).allowed);
        expect(remaining).toEqual([true, true, false]);
      }
      expect(await health()).toMatchObject({ status: 'up', degraded: false, servers: [] });
    },
  );

  it("a user's plain client on a Cluster node stops the application", async () => {
    const mine = new Redis(cluster.nodes[0]!.url);
    const message = await refusalToStart(moduleWith({ redis: mine }));
    expect(message).toContain('is one node of a Redis Cluster and does not serve all slots');
    expect(message).toContain('a Cluster of ioredis');
    mine.disconnect();
  });

  it.each([
    [
      'a database',
      (node: RedisServer) => `${node.url}/3`,
      'got database 3; a Redis Cluster has only database 0',
    ],
    [
      'a Unix socket',
      ({ folder }: RedisServer) => ({ path: `${folder}/redis.sock` }),
      'is one node of a Redis Cluster',
    ],
  ])('%s stops the application because it cannot lead to a Cluster', async (_title, redis, problem) => {
    expect(await refusalToStart(moduleWith({ redis: redis(cluster.nodes[0]!) }))).toContain(problem);
  });

  it('the first MOVED opens the breaker when the topology was not queried', async () => {
    const store = new RedisStore({ redis: cluster.nodes[0]!.url, timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    const changes: unknown[] = [];
    limiter.events.on('breaker', (event) => changes.push(event));
    for (const subject of ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']) {
      await limiter.consume({ window: '1m', limit: 2 }, subject);
    }
    expect(changes[0]).toMatchObject({ state: 'open', error: { kind: 'topology', code: 'MOVED' } });
    await limiter.close();
    await store.close();
  });
});

/** A rule of each algorithm whose state is a text. */
const STRING_STATES: readonly Rule[] = [
  { algorithm: 'gcra' },
  { algorithm: 'gcra', burst: 2, overdraft: true },
  { algorithm: 'token-bucket' },
  { algorithm: 'token-bucket', refill: 'interval' },
  { algorithm: 'token-bucket', warmUp: '10s' },
  { algorithm: 'leaky-bucket' },
  { algorithm: 'fixed-window' },
  { algorithm: 'fixed-window', window: 'day' },
  { algorithm: 'sliding-window-counter' },
  { algorithm: 'sliding-window-cells' },
].map((options) => ({ name: 'each', window: '1h', limit: 5, ...options }) as Rule);

describe('keys with another type', () => {
  const rule: Rule = { name: 'log', window: '1m', limit: 5, algorithm: 'sliding-window-log' };
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(redisUrl());
  });
  afterAll(() => redis.disconnect());

  async function spoil(prefix: string, ...subjects: string[]) {
    for (const subject of subjects) {
      await redis.set(`${prefix}{${subject}}:log:sliding-window-log2/60000`, 'x', 'PX', 60_000);
    }
  }

  it('a key with another type fails alone, and the log reports it once', async () => {
    const prefix = uniquePrefix();
    const { app, logs, health } = await start({ redis: redisUrl(), prefix });
    const limiter = app.get(RateLimiter);
    await spoil(prefix, 'ann');
    for (let nth = 1; nth <= 5; nth++) await limiter.consume(rule, 'ann');
    expect((await limiter.consume(rule, 'bob')).source).toBe('redis');
    expect(logs.ours()).toEqual([
      {
        level: 'warn',
        message: expect.stringMatching(
          /^Redis could not decide a request \(.*: a key of the limiter holds a value that it did not write; reset the counter, or set another `prefix` \(INVALID_STATE\)\)/,
        ),
      },
    ]);
    expect(JSON.stringify(logs.ours())).not.toContain('ann');
    expect(await health()).toMatchObject({ status: 'up', degraded: true, servers: [{ server: '' }] });
    expect((await health()).reason).toMatch(/INVALID_STATE/);
  });

  it('a list that the limiter did not write is reported with the fix, and the fallback limits', async () => {
    const prefix = uniquePrefix();
    const { app, logs, health } = await start({ redis: redisUrl(), prefix });
    await redis.rpush(`${prefix}{ann}:log:sliding-window-log2/60000`, 'a', 'b');
    const limiter = app.get(RateLimiter);
    const sent = Array.from({ length: 6 }, () => limiter.consume(rule, 'ann'));
    expect((await Promise.all(sent)).filter(({ allowed }) => allowed)).toHaveLength(5);
    const cause =
      'a key of the limiter holds a value that it did not write; reset the counter, or set another `prefix` (INVALID_STATE)';
    expect(logs.ours()).toEqual([{ level: 'warn', message: expect.stringContaining(cause) }]);
    expect((await health()).reason).toContain(cause);
    await redis.del(`${prefix}{ann}:log:sliding-window-log2/60000`);
  });

  it('a heartbeat key with another type is reported with the fix, and decisions continue', async () => {
    const prefix = uniquePrefix();
    await redis.set(`${prefix}{instances}`, 'x', 'PX', 60_000);
    const { app, logs, health } = await start({ redis: redisUrl(), prefix });
    await until(async () => 'instancesStale' in (await health()), 'the first heartbeat');
    expect((await app.get(RateLimiter).consume(rule, 'ann')).source).toBe('redis');
    const { host } = new URL(redisUrl());
    const reason = `Redis at ${host}: the key "${prefix}{instances}" holds a value of another type (WRONGTYPE); delete it, or set another \`prefix\``;
    expect(await health()).toMatchObject({ degraded: false, instances: 1, instancesStale: reason });
    expect(logs.ours()).toEqual([
      {
        level: 'warn',
        message: `Redis could not count the processes that share the limits (${reason}); the last number applies, at least \`instances\`, which is 1 unless you set it; this kind of error is logged once. (RL_REDIS_ERROR, see docs/warnings.md)`,
      },
    ]);
  });

  it.each(STRING_STATES)(
    'a number that lost a digit is no empty counter, and is not overwritten: $algorithm',
    async (each) => {
      const prefix = uniquePrefix();
      const store = new RedisStore({ redis: redisUrl(), timeout: 10_000 });
      const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
      for (let nth = 1; nth <= 3; nth++) await limiter.consume(each, 'ann');
      const [key] = (await redis.keys(`${prefix}{ann}*`)) as [string];
      const damaged = (await redis.get(key))!.replace(/\d{16}/g, (instant) => instant.slice(0, -1));
      await redis.set(key, damaged, 'KEEPTTL');
      expect(await limiter.consume(each, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
      expect(await redis.get(key)).toBe(damaged);
      expect(await limiter.reset(each, 'ann')).toBe(true);
      expect(await limiter.consume(each, 'ann')).toMatchObject({ allowed: true, source: 'redis' });
      await limiter.close();
      await store.close();
    },
  );

  it('keys that are not recognised never open the breaker, however many fail', async () => {
    const prefix = uniquePrefix();
    const store = new RedisStore({ redis: redisUrl(), timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix });
    await limiter.ready();
    const turns: string[] = [];
    limiter.events.on('breaker', ({ state }) => turns.push(state));
    await spoil(prefix, 'ann', 'bob', 'cid');
    for (const subject of ['ann', 'bob']) await limiter.consume(rule, subject);
    expect((await limiter.consume(rule, 'cid')).source).toBe('fallback');
    expect(turns).toEqual([]);
    await limiter.close();
    await store.close();
  });
});

describe('a proxy', () => {
  let server: Server;
  let reply = '';

  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        const commands = String(data).match(/\*\d+\r\n/g) ?? [];
        socket.write(commands.map(() => (/\binfo\b/i.test(String(data)) ? '$0\r\n\r\n' : reply)).join(''));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it.each([
    ['OK to everything', '+OK\r\n', /answered: something unexpected/],
    ['nothing to everything', '$-1\r\n', /answered: something unexpected/],
    ['an empty list to everything', '*0\r\n', /./],
    [
      'that it does not support scripts',
      "-ERR unknown command 'evalsha'\r\n",
      /does not have the command EVAL/,
    ],
    ['an error of its own', '-no upstream host\r\n', /answered: no upstream host/],
  ])('a proxy that replies %s is not treated as Redis', async (_title, answer, reason) => {
    reply = answer;
    const { port } = server.address() as AddressInfo;
    const { logs, health, get } = await start({ redis: `redis://127.0.0.1:${port}` });
    expect((await get('/')).status).toBe(200);
    expect(await health()).toMatchObject({ degraded: true, reason: expect.stringMatching(reason) });
    expect(logs.ours().length).toBeGreaterThan(0);
  });

  it.each([
    ['OK', '+OK\r\n'],
    ['nothing', '$-1\r\n'],
  ])('a proxy that replies %s to everything resets no counter', async (_title, answer) => {
    reply = answer;
    const { port } = server.address() as AddressInfo;
    const store = await RedisStore.open({ redis: `redis://127.0.0.1:${port}` });
    const limiter = new RateLimiter({ store });
    limiter.events.on('storeError', () => undefined);
    await expect(limiter.reset({ window: '1m', limit: 1 }, 'ann')).rejects.toThrow('something unexpected');
    await limiter.close();
    await store.close();
  });
});
