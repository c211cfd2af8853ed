import { afterEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RateLimitModule, type RateLimitModuleOptions } from '../../lib/index.js';
import { configMessage } from '../support/config-message.js';
import { closeApps, refusalToStart, startApp } from '../support/nest-app.js';
import { redisUrl } from '../support/redis/shared-redis.js';

/** The client of another library. */
interface NodeRedis {
  createClient(): object;
  createCluster(options: object): object;
}

const LIBRARIES: readonly string[] = ['redis'];
const { createClient, createCluster } = (await import(LIBRARIES[0]!)) as NodeRedis;

const ALLOWED = 'a redis:// or rediss:// URL, ioredis options as an object, or an ioredis client or Cluster';

const moduleWith = (redis: unknown) =>
  RateLimitModule.forRoot({ redis } as Pick<RateLimitModuleOptions, 'redis'>);
const refusal = (redis: unknown) => refusalToStart({ imports: [moduleWith(redis)] });

afterEach(closeApps);

describe('a wrong `redis` stops the application instead of dialing localhost:6379', () => {
  it.each([
    [
      'the options of node-redis',
      { url: 'redis://cache:6379' },
      'redis.url: no option of ioredis; write redis: "redis://cache:6379" instead of redis: { url: … }',
    ],
    [
      'options of node-redis with a socket',
      { socket: { host: 'cache', port: 6379 } },
      'redis.socket: no option of ioredis; write redis: { host: "…", port: 6379 } without `socket`',
    ],
    [
      'options of a Cluster',
      { nodes: [{ host: 'cache', port: 6379 }] },
      'redis: got options of a Cluster; write redis: new Cluster(nodes, options), with Cluster of ioredis',
    ],
    [
      'a misspelled option',
      { host: 'cache', pasword: 'secret' },
      'redis.pasword: no option of ioredis: did you mean "password"?',
    ],
    [
      "an option's name in lower case",
      { host: 'cache', keyprefix: 'app:' },
      'redis.keyprefix: no option of ioredis: did you mean "keyPrefix"?',
    ],
    [
      'an option that is called otherwise',
      { host: 'cache', user: 'limiter' },
      'redis.user: no option of ioredis: did you mean "username"?',
    ],
    ['an option of nothing', { host: 'cache', colour: 'red' }, 'redis.colour: no option of ioredis'],
    ['no option', {}, 'redis: names no server; write redis: { host: "…", port: 6379 }'],
    [
      'options whose variables are not set',
      { host: undefined, port: undefined, password: 'secret' },
      'redis: names no server; write redis: { host: "…", port: 6379 }',
    ],
    [
      'a port from a variable that is not set',
      { host: 'cache', port: Number.NaN },
      'redis.port: got NaN; allowed: an integer from 1 to 65535',
    ],
    [
      'a database from a variable that is not set',
      { host: 'cache', db: Number.NaN },
      'redis.db: got NaN; allowed: an integer from 0',
    ],
    [
      'a database that is no number',
      { host: 'cache', db: 'limits' },
      'redis.db: got "limits"; allowed: an integer from 0',
    ],
    [
      'a database in the query of a URL that is no number',
      'redis://cache:6379?db=limits',
      'redis: got "redis://cache:6379?db=limits", whose `db` is not the number of a database',
    ],
    ['an empty host', { host: '' }, 'redis.host: got ""; allowed: the name or address of a host'],
    [
      'a host without a scheme',
      'localhost:6379',
      'redis: got "localhost:6379", which has no scheme; write "redis://localhost:6379"',
    ],
    [
      'the path of a socket',
      '/run/redis.sock',
      'redis: got "/run/redis.sock"; write redis: { path: "/run/redis.sock" }',
    ],
    [
      'an empty string, as a variable that is set to nothing gives it',
      '',
      'redis: got an empty string; write a redis:// or rediss:// URL, or leave `redis` undefined to count in the memory of each process',
    ],
    [
      'a URL made of a variable that is not set',
      'redis://undefined:6379',
      'redis: got "redis://undefined:6379", which names no host; write "redis://host:6379"',
    ],
    [
      'the text of a variable that is not set',
      'undefined',
      'redis: got "undefined", which names no host; write "redis://host:6379"',
    ],
    [
      'a host that is the text of a variable that is not set',
      'undefined:6379',
      'redis: got "undefined:6379", which names no host; write "redis://host:6379"',
    ],
    [
      'a URL without a host',
      'redis://',
      'redis: got "redis://", which names no host; write "redis://host:6379"',
    ],
    [
      'a URL of TLS without a host',
      'rediss://',
      'redis: got "rediss://", which names no host; write "rediss://host:6379"',
    ],
    [
      'a port that is no number',
      'redis://cache:abc',
      'redis: got "redis://cache:***", which is not a URL; write "redis://user:password@host:6379", with a number as the port and the password encoded by encodeURIComponent',
    ],
    [
      'a URL with the name of a database',
      'redis://cache:6379/limits',
      'redis: got "redis://cache:6379/limits", whose path is not the number of a database; write "redis://host:6379/0"',
    ],
    [
      'Sentinels without the name of a master',
      { sentinels: [{ host: 'cache', port: 26379 }] },
      'redis.name: missing; allowed: the name of the master that the Sentinels monitor',
    ],
    [
      'an empty list of Sentinels beside a host',
      { host: 'cache', sentinels: [], name: 'main' },
      'redis.sentinels: got []; allowed: at least one, or leave it out',
    ],
    [
      'the class of a client',
      Redis,
      'redis: got the class Redis; write redis: new Redis(…), or the URL: redis: "redis://host:6379"',
    ],
    ['a port', 6379, `redis: got 6379; allowed: ${ALLOWED}`],
    ['nothing', null, `redis: got null; allowed: ${ALLOWED}`],
    [
      'a list of URLs',
      ['redis://cache'],
      `redis: got ["redis://cache"]: for a Cluster write redis: new Cluster(nodes), with Cluster of ioredis; allowed: ${ALLOWED}`,
    ],
  ])('a wrong `redis` stops the application with the right form for %s', async (_title, redis, problem) => {
    expect(await refusal(redis)).toBe(configMessage(problem));
  });

  it.each([
    ['a client', () => createClient()],
    ['a Cluster', () => createCluster({ rootNodes: [{ url: 'redis://localhost:1' }] })],
  ])(
    'a wrong `redis` stops the application and offers a URL for %s of node-redis',
    async (_title, create) => {
      const message = await refusal(create());
      expect(message).toContain('redis: got a client that is not made by ioredis (');
      expect(message).toContain('Write its URL: redis: "redis://host:6379".');
    },
  );

  it.each([
    [
      'a client with a database that is no number',
      () => new Redis({ db: Number.NaN, lazyConnect: true }),
      'redis.options.db: got NaN; allowed: an integer from 0',
    ],
    [
      'a Cluster with a database, which ioredis leaves out',
      () => new Cluster([{ host: 'cache', port: 1 }], { lazyConnect: true, redisOptions: { db: 2 } }),
      'redis.options.redisOptions.db: got 2; a Redis Cluster has only database 0',
    ],
  ])(
    'a wrong database stops the application instead of counting in database 0 for %s',
    async (_title, create, problem) => {
      expect(await refusal(create())).toBe(configMessage(problem));
    },
  );

  it.each([
    'redis//:s3cret@cache:6379',
    'http://user:s3cret@cache',
    'redis://user:s3/cret@cache:6379/x',
    'redis://user:s3cret',
    'redis://user:s3cret/0',
    'redis://:s3cret',
    'user:s3cret',
    'redis://cache?password=s3cret&db=first',
    'redis://cache?username=s3cret&db=first',
    { url: 'redis://:s3cret@cache:6379' },
    { host: '', password: 's3cret' },
    { host: 'redis://user:s3cret@cache' },
    { host: 'user:s3cret@cache' },
    { host: ['redis://user:s3cret@cache'] },
    { host: 'cache', port: 'redis://user:s3cret@cache' },
    { host: 'cache', db: 'redis://user:s3cret@cache' },
    { path: 'redis://user:s3cret@cache' },
    { sentinels: [{ host: 'redis://user:s3cret@cache', port: 26379 }], name: 'main' },
    [{ host: 'cache', username: 's3cret', password: 's3cret' }],
    [{ host: 'cache', options: { auth_pass: 's3cret' } }, 'redis//:s3cret@cache'],
    () => 'redis://:s3cret@cache',
    new Redis({ host: 'redis://user:s3cret@cache', lazyConnect: true }),
    new Cluster(['redis://user:s3cret@cache'], { lazyConnect: true, redisOptions: { db: 2 } }),
  ])('a message about a wrong `redis` contains no password: %#', async (redis) => {
    const message = await refusal(redis);
    expect(message).toContain('redis');
    expect(message).not.toMatch(/s3|cret/);
  });

  it.each(['redis://user:s3cret@cache', [{ redis: { host: 'cache', password: 's3cret' } }]])(
    'a message about a wrong `redis` contains no password in the place of options: %#',
    async (options) => {
      const message = await refusalToStart({
        imports: [RateLimitModule.forRootAsync({ useFactory: () => options as never })],
      });
      expect(message).toContain('the options of RateLimitModule');
      expect(message).not.toMatch(/s3|cret/);
    },
  );

  it.each([
    [
      { host: 'redis://cache:6379' },
      'redis.host: got "redis://cache:6379"; write redis: "redis://cache:6379"',
    ],
    [{ host: 'cache:6379' }, 'redis.host: got "cache:6379"; write redis: { host: "cache", port: 6379 }'],
    [{ host: 'cache/0' }, 'redis.host: got "cache/0"; allowed: the name or address of a host'],
    [{ path: 'redis://cache' }, 'redis.path: got "redis://cache"; write redis: "redis://cache"'],
  ])('a host that is more than a host stops the application with the fix: %j', async (redis, problem) => {
    expect(await refusal(redis)).toBe(configMessage(problem));
  });
});

describe('a right `redis` starts the application', () => {
  const { hostname: host, port } = new URL(redisUrl());

  it.each([
    ['a URL', () => redisUrl()],
    ['a port alone', () => ({ port: Number(port) })],
    ['an IPv6 address', () => ({ host: '::1', port })],
    ['a port as text', () => ({ host, port, keyPrefix: 'app:', lazyConnect: true, tls: undefined })],
    ['a client', () => new Redis(redisUrl(), { lazyConnect: true })],
    ['a Cluster', () => new Cluster([{ host, port: 1 }], { lazyConnect: true, slotsRefreshTimeout: 50 })],
    ['nothing', () => undefined],
  ])('a valid `redis` starts the application with %s', async (_title, redis) => {
    await startApp({ imports: [moduleWith(redis())] }, { framework: 'express' });
  });
});
