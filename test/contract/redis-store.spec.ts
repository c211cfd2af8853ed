import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { EVERY_OPTION } from './every-rule.js';
import { openRedisStore } from '../support/redis-store.js';
import { startRedisServer } from '../support/redis/redis-server.mjs';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';
import { RateLimitConfigError, type Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisConnection } from '../../lib/stores/redis/redis-option.js';
import { RedisStore } from '../../lib/redis.js';

const rule = { algorithm: 'gcra', limit: 2, window: '1m' } as const satisfies Rule;

describe('a Redis store and the client that the user gave it', () => {
  let client: Redis;

  beforeEach(async () => {
    client = new Redis(redisUrl());
    await client.ping();
  });

  afterEach(() => client.disconnect());

  it("a Redis store does not change the options, commands or connection of a user's client", async () => {
    const options = { ...client.options };
    const members = Object.getOwnPropertyNames(client);
    const store = await openRedisStore({ redis: client });
    await new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' }).consume(rule, 'ann');
    await store.close();
    expect(client.status).toBe('ready');
    expect(await client.ping()).toBe('PONG');
    expect(client.options).toEqual(options);
    expect(Object.getOwnPropertyNames(client)).toEqual(members);
  });

  it("a Redis store with a user's client shares counters with a store created from a URL or options", async () => {
    const { hostname: host, port, username, password, pathname } = new URL(redisUrl());
    const options = {
      ...{ host, port: Number(port || 6379), db: Number(pathname.slice(1) || 0) },
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    };
    const prefix = uniquePrefix();
    const remaining: number[] = [];
    for (const redis of [client, redisUrl(), options] satisfies RedisConnection[]) {
      const store = await openRedisStore({ redis });
      const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
      remaining.push((await limiter.consume({ ...rule, limit: 3 }, 'ann')).remaining);
      await store.close();
    }
    expect(remaining).toEqual([2, 1, 0]);
  });
});

describe('a Redis store and keys with another type', () => {
  let redis: Redis;
  let store: RedisStore;

  beforeAll(async () => {
    redis = new Redis(redisUrl());
    store = await openRedisStore();
  });

  afterAll(async () => {
    redis.disconnect();
    await store.close();
  });

  it('onStoreError decides if a key holds another type, and no other rule is charged', async () => {
    const prefix = uniquePrefix();
    const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny' });
    const rules: Rule[] = [
      { ...rule, name: 'sound' },
      { ...rule, name: 'broken', algorithm: 'sliding-window-log' },
    ];
    await redis.set(`${prefix}{ann}:broken:sliding-window-log2/60000`, 'not a list', 'PX', 60_000);
    expect(await limiter.consume(rules, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
    expect(await limiter.peek(rules[0]!, 'ann', { cost: 0 })).toMatchObject({
      remaining: 2,
      source: 'redis',
    });
    await limiter.reset(rules, 'ann');
    expect(await limiter.consume(rules, 'ann')).toMatchObject({ allowed: true, source: 'redis' });
  });

  const types = EVERY_OPTION.flatMap((option) =>
    [['ann'], ['ann', 'bob']].map((subjects) => ({ rule: option, subjects, name: option.name })),
  );

  it.each(types)(
    'the key of a counter is not overwritten, and expires, with requests for $subjects: $name',
    async ({ rule: option, subjects }) => {
      const prefix = uniquePrefix();
      const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
      const ask = () => Promise.all(subjects.map((subject) => limiter.consume(option, subject)));
      await limiter.consume(option, 'ann');
      const [key, ...others] = await redis.keys(`${prefix}{ann}*`);
      expect(others).toEqual([]);
      await redis.multi().del(key!).hset(key!, 'owner', 'another application').exec();

      const [ann, bob] = await ask();
      expect(ann).toMatchObject({ allowed: false, source: 'fallback' });
      if (bob) expect(bob).toMatchObject({ allowed: true, source: 'redis' });
      expect(await redis.hgetall(key!)).toEqual({ owner: 'another application' });
      expect(await redis.pttl(key!)).toBeGreaterThan(0);

      await limiter.reset(option, 'ann');
      expect((await ask())[0]).toMatchObject({ allowed: true, source: 'redis' });
    },
  );

  it('the key of a block is not overwritten, and expires', async () => {
    const prefix = uniquePrefix();
    const limiter = new RateLimiter({ store, prefix, onStoreError: 'deny', denyCache: false });
    const login = { ...rule, name: 'login', block: '1m' } as const satisfies Rule;
    const key = `${prefix}{ann}:login:block`;
    for (let nth = 0; nth < 3; nth++) await limiter.consume(login, 'ann');
    expect(await redis.type(key)).toBe('string');
    await redis.multi().del(key).hset(key, 'owner', 'another application').exec();
    expect(await limiter.consume(login, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
    expect(await redis.type(key)).toBe('hash');
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    await expect(limiter.block(login, 'ann', '1m')).rejects.toThrow(/a value that it did not write/);
    expect(await redis.type(key)).toBe('hash');
    await limiter.reset(login, 'ann');
    expect(await limiter.consume(login, 'ann')).toMatchObject({ allowed: true, source: 'redis' });
  });
});

describe('the clock of a Redis store', () => {
  it("a Redis store uses the server's clock, to the millisecond, so that processes with other clocks agree", async () => {
    const redis = new Redis(redisUrl());
    const store = await openRedisStore();
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    const ofServer = async () => {
      const [seconds, microseconds] = await redis.time();
      return Number(seconds) * 1000 + Number(microseconds) / 1000;
    };
    const week = 604_800_000;
    const before = await ofServer();
    const { resetAfterMs } = await limiter.consume(
      { algorithm: 'fixed-window', align: 'clock', limit: 5, window: '1w' },
      'ann',
    );
    const after = await ofServer();
    const untilTheEnd = (now: number) => Math.ceil(week - (now % week));
    expect(resetAfterMs).toBeLessThanOrEqual(untilTheEnd(before));
    expect(resetAfterMs).toBeGreaterThanOrEqual(untilTheEnd(after));
    redis.disconnect();
    await store.close();
  });
});

describe('the options of a Redis store', () => {
  it.each([
    ['http://localhost', '"http://localhost"'],
    [6379, '6379'],
    [null, 'null'],
  ])('a Redis store rejects redis: %p and lists the allowed values', (redis, given) => {
    expect(() => new RedisStore({ redis: redis as string })).toThrow(
      new RateLimitConfigError([
        `redis: got ${given}; allowed: a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster`,
      ]),
    );
  });

  it.each([0, -1, 1.5, NaN, Infinity])(
    'a Redis store rejects timeout: %p and lists the allowed values',
    (timeout) => {
      expect(() => new RedisStore({ redis: redisUrl(), timeout: timeout })).toThrow(
        new RateLimitConfigError([`timeout: got ${timeout}; allowed: an integer from 1, in milliseconds`]),
      );
    },
  );
});

describe('a Redis store that is closed under load', () => {
  it('a Redis store that is closed under load waits for pending replies before it disconnects', async () => {
    const store = await openRedisStore();
    const limiter = new RateLimiter({ store, prefix: uniquePrefix(), onStoreError: 'deny' });
    const underWay = Array.from({ length: 20 }, () =>
      limiter.consume({ ...rule, name: 'many', limit: 20 }, 'ann'),
    );
    await store.close();
    const sources = (await Promise.all(underWay)).map(
      ({ allowed, source }) => `${source} ${String(allowed)}`,
    );
    expect(new Set(sources)).toEqual(new Set(['redis true']));
    expect(await limiter.consume(rule, 'ann')).toMatchObject({ allowed: false, source: 'fallback' });
  });
});

describe('a Redis that hangs while a store starts is waited for once', () => {
  const connectTimeout = 2000;
  const rule: Rule = { algorithm: 'gcra', limit: 2, window: '1m' };

  /** How often the time limit for the first connection has passed before a start has ended. */
  async function waitsOf(start: Promise<unknown>): Promise<number> {
    let waits = 0;
    const counting = setInterval(() => (waits += 1), connectTimeout);
    await start;
    clearInterval(counting);
    return waits;
  }

  it('a starting store waits once for a Redis that accepts connections and never replies', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const start = async () => {
      const store = await RedisStore.open({ redis: `redis://127.0.0.1:${port}`, connectTimeout });
      const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
      await limiter.ready();
      expect((await limiter.consume(rule, 'ann')).source).toBe('fallback');
      await limiter.close();
      await store.close();
    };
    expect(await waitsOf(start())).toBeLessThan(2);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('a starting store waits once for a Redis that hangs after the connection', async () => {
    const server = await startRedisServer();
    const store = await RedisStore.open({ redis: server.url, connectTimeout });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    await server.pause();
    expect(await waitsOf(limiter.ready())).toBeLessThan(2);
    expect((await limiter.consume(rule, 'ann')).source).toBe('fallback');
    await limiter.close();
    await store.close();
    await server.stop();
  });
});
