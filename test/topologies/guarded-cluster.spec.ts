import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { RateLimiter } from '../../lib/limiter.js';
import { RedisStore } from '../../lib/redis.js';
import { askServer } from '../support/redis/ask-server.js';
import { startCluster, type RedisCluster, type RedisClusterOptions } from '../support/redis/cluster.js';
import { untilViews, type ClusterView } from '../support/redis/cluster-view.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';

const RULE: Rule = { limit: 5, window: '1h', algorithm: 'fixed-window' };
const USER = 'user limiter on >s3cret ~* &* +@all';

interface Guarded {
  readonly name: string;
  readonly cluster: RedisClusterOptions;
  readonly options: (cluster: RedisCluster) => NonNullable<ConstructorParameters<typeof Cluster>[1]>;
}

const GUARDED: readonly Guarded[] = [
  {
    name: 'a password',
    cluster: { password: 'p@ss: "word" / 100 %' },
    options: () => ({ redisOptions: { password: 'p@ss: "word" / 100 %' } }),
  },
  {
    name: 'a user name',
    cluster: { config: [USER] },
    options: () => ({ redisOptions: { username: 'limiter', password: 's3cret' } }),
  },
  {
    name: 'TLS and a password',
    cluster: { tls: true, password: 's3cret' },
    options: ({ ca }) => ({
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: { password: 's3cret', tls: { ca: ca! } },
    }),
  },
];

/** The options of a user's client, without the state of its connections that ioredis stores there. */
const optionsOf = ({ options }: Cluster) => ({ ...options, redisOptions: { ...options.redisOptions } });

describe.each(GUARDED)("a user's Cluster with $name", (guarded) => {
  let cluster: RedisCluster;
  let mine: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ ...guarded.cluster, replicas: false });
    mine = new Cluster(cluster.startNodes, guarded.options(cluster));
    await mine.set('mine', 'kept');
  });

  afterAll(async () => {
    mine.disconnect();
    await cluster.close();
  });

  it("a user's Cluster limits on every node", async () => {
    const store = new RedisStore({ redis: mine, timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    for (const subject of ['ann', 'bob', 'cid', 'dan']) {
      const decisions = [];
      for (let nth = 1; nth <= 10; nth++) decisions.push(await limiter.consume(RULE, subject));
      expect(decisions.map(({ source }) => source)).not.toContain('fallback');
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    }
    await limiter.close();
    await store.close();
  });

  it("a user's Cluster keeps its options, its connections and its keys", async () => {
    const before = optionsOf(mine);
    const store = new RedisStore({ redis: mine, timeout: 10_000 });
    await store.ready();
    await store.close();
    expect(optionsOf(mine)).toEqual(before);
    expect(mine.status).toBe('ready');
    expect(await mine.get('mine')).toBe('kept');
  });
});

/** The port of a node as the cluster announces it to clients: no server listens there. */
const announced = (port: number) => port + 20_000;

describe("a user's Cluster behind addresses of its own", () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
    for (const node of cluster.nodes) {
      await askServer(node, 'CONFIG', 'SET', 'cluster-announce-port', String(announced(node.port)));
    }
    const isAnnounced = ({ nodes }: ClusterView) =>
      nodes.every(({ port }) => cluster.nodes.some((node) => announced(node.port) === port));
    await untilViews(cluster.nodes, (views) => views.every(isAnnounced), 'the nodes to announce themselves');
  });

  afterAll(() => cluster.close());

  it("a user's Cluster is reached through its natMap, and its key prefix starts every key", async () => {
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }) => [`${host}:${announced(port)}`, { host, port }]),
    );
    const mine = new Cluster(cluster.startNodes, { natMap, keyPrefix: 'mine:', lazyConnect: true });
    const store = new RedisStore({ redis: mine, timeout: 10_000 });
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    for (const subject of ['ann', 'bob', 'cid', 'dan']) {
      expect(await limiter.consume(RULE, subject)).toMatchObject({ remaining: 4, source: 'redis' });
    }
    await limiter.close();
    await store.close();
    const keys = await Promise.all(cluster.nodes.map((node) => askServer(node, 'KEYS', '*')));
    const written = keys.flat().filter((key) => String(key).includes('fixed-window'));
    expect(written).toHaveLength(4);
    expect(written.every((key) => String(key).startsWith('mine:t:'))).toBe(true);
  });
});
