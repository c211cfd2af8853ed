import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import { RateLimiter } from '../../lib/limiter.js';
import type { RedisConnection } from '../../lib/stores/redis/redis-option.js';
import { RedisStore } from '../../lib/redis.js';
import { ClusterServers } from '../../lib/stores/redis/link/topology.js';
import { connect, type StoreClient } from '../../lib/stores/redis/link/connection.js';
import { startCluster, type RedisCluster } from '../support/redis/cluster.js';
import { redisUrl, uniquePrefix } from '../support/redis/shared-redis.js';

const rule = { window: '1h', limit: 2, algorithm: 'fixed-window' } as const;
const never = () => null;

/** Each option of ioredis with a value that would break a guarantee of the limiter, or `yours` if there is none. */
const OPTIONS: { readonly [Name in keyof Required<RedisOptions>]: RedisOptions[Name] | 'yours' } = {
  Connector: 'yours',
  autoPipeliningIgnoredCommands: 'yours',
  autoResendUnfulfilledCommands: true,
  autoResubscribe: true,
  blockingTimeout: 1,
  blockingTimeoutGrace: 'yours',
  clientInfoTag: 'yours',
  commandQueue: 'yours',
  commandTimeout: 1,
  connectTimeout: 1,
  connectionName: 'yours',
  db: 'yours',
  disableClientInfo: 'yours',
  disconnectTimeout: 60_000,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: 'yours',
  enableTLSForSentinelMode: 'yours',
  failoverDetector: 'yours',
  family: 'yours',
  himportFieldsets: [],
  host: 'yours',
  keepAlive: 'yours',
  keyPrefix: 'yours',
  lazyConnect: true,
  maxLoadingRetryTime: 'yours',
  maxRetriesPerRequest: null,
  monitor: true,
  name: 'yours',
  natMap: 'yours',
  noDelay: false,
  offlineQueue: 'yours',
  password: 'yours',
  path: 'yours',
  port: 'yours',
  preferredSlaves: 'yours',
  protocol: 'yours',
  readOnly: true,
  reconnectOnError: () => 2 as const,
  replyMapping: 'yours', // Overridden as well, but ioredis 5 has no other.
  retryStrategy: never,
  role: 'slave',
  scripts: 'yours',
  sentinelCommandTimeout: 1,
  sentinelMaxConnections: 'yours',
  sentinelPassword: 'yours',
  sentinelReconnectStrategy: 'yours',
  sentinelRetryStrategy: never,
  sentinelTLS: 'yours',
  sentinelUsername: 'yours',
  sentinels: 'yours',
  showFriendlyErrorStack: 'yours',
  socketTimeout: 1,
  stringNumbers: true,
  tls: 'yours',
  updateSentinels: 'yours',
  username: 'yours',
};

const CLUSTER_OPTIONS = {
  clusterRetryStrategy: never,
  clusterNodeRetryStrategy: () => 60_000,
  enableAutoPipelining: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  lazyConnect: true,
  maxRedirections: 0,
  retryDelayOnClusterDown: 60_000,
  retryDelayOnFailover: 60_000,
  retryDelayOnMoved: 60_000,
  retryDelayOnTryAgain: 60_000,
  scaleReads: 'slave',
} satisfies ClusterOptions;

const hostile = Object.entries(OPTIONS).filter(([, value]) => value !== 'yours');
const BOUNDS = { timeout: 10_000, connectTimeout: 30_000, socketTimeout: 30_000 };

const stores: RedisStore[] = [];
const clients: { disconnect(): void }[] = [];

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  for (const client of clients.splice(0)) client.disconnect();
});

/** Registers a client of the test, to be disconnected after it. */
function owned<Client extends { disconnect(): void; on(event: 'error', listener: () => void): unknown }>(
  client: Client,
): Client {
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

/** Returns a connection of the store, and its options. */
type Made = StoreClient & { readonly options: Readonly<Record<string, unknown>> };

function ours(redis: RedisConnection): Made {
  return owned(connect(redis, BOUNDS));
}

async function decisionsWith(redis: RedisConnection) {
  const store = new RedisStore({ redis, timeout: 10_000, connectTimeout: 30_000 });
  stores.push(store);
  const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
  await limiter.ready();
  const decisions = [];
  for (let nth = 1; nth <= 3; nth++) decisions.push(await limiter.consume(rule, 'ann'));
  return decisions.map(({ allowed, source }) => `${source} ${allowed ? 'allows' : 'denies'}`);
}

const EXACT = ['redis allows', 'redis allows', 'redis denies'];

describe("an option of a user's client that would delay, resend, drop or reorder commands", () => {
  const { hostname: host, port } = new URL(redisUrl());
  const place = { host, port: Number(port) };

  it.each(hostile)(
    "an option of a client does not reach the limiter's connection: %s",
    async (name, value) => {
      const mine = owned(new Redis({ ...place, lazyConnect: true, [name]: value }));
      const made = ours(mine);
      const plain = ours(place);
      const optionOf = ({ options }: Made) => String(options[name]);
      expect(optionOf(made)).toBe(optionOf(plain));
      expect(await decisionsWith(mine as RedisConnection)).toEqual(EXACT);
    },
  );

  it.each([
    'commandTimeout=1',
    'enableOfflineQueue=true',
    'maxRetriesPerRequest=20',
    'connectTimeout=1',
    'stringNumbers=true&connectionName=mine',
  ])("an option in a URL does not reach the limiter's connection: %s", async (query) => {
    const made = ours(`${redisUrl()}?${query}`);
    const plain = ours(redisUrl());
    const [name = ''] = query.split('=');
    expect(made.options[name]).toBe(plain.options[name]);
    expect(made.options.connectionName).toBe(query.includes('mine') ? 'mine' : plain.options.connectionName);
    expect(await decisionsWith(`${redisUrl()}?${query}`)).toEqual(EXACT);
  });
});

describe("options of a user's Cluster", () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await startCluster({ replicas: false });
  });
  afterAll(() => cluster.close());

  it.each(Object.entries(CLUSTER_OPTIONS))(
    "an option of a user's Cluster does not reach the limiter: %s",
    async (name, value) => {
      const mine = owned(new Cluster(cluster.startNodes, { lazyConnect: true, [name]: value }));
      const made = ours(mine);
      expect(made.options[name]).not.toBe(value);
      expect(await decisionsWith(mine as RedisConnection)).toEqual(EXACT);
    },
  );

  it("options for the nodes of a user's Cluster do not reach the limiter", async () => {
    const forNodes = { commandTimeout: 1, enableAutoPipelining: true, stringNumbers: true };
    const nodes = cluster.startNodes.map((node) => ({ ...node, ...forNodes }));
    const mine = owned(new Cluster(nodes, { lazyConnect: true, redisOptions: forNodes }));
    const made = ours(mine);
    for (const { options = {} } of made.nodes?.('master') ?? []) {
      expect(options).toMatchObject({ enableAutoPipelining: false, stringNumbers: false });
      expect(options).not.toMatchObject({ commandTimeout: 1 });
    }
    expect(await decisionsWith(mine as RedisConnection)).toEqual(EXACT);
  });

  it('a key prefix with braces puts all keys of a Cluster on one slot', async () => {
    const mine = owned(new Cluster(cluster.startNodes, { keyPrefix: '{app}:' }));
    const store = new RedisStore({ redis: mine, timeout: 10_000, connectTimeout: 30_000 });
    stores.push(store);
    const limiter = new RateLimiter({ store, prefix: uniquePrefix() });
    await limiter.ready();
    const decisions = await Promise.all(
      Array.from({ length: 20 }, (_, nth) => limiter.consume(rule, `user-${nth}`)),
    );
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['redis']));
    const hits = ['ann', 'bob', 'cid'].map((subject) => ({ key: `rl:{${subject}}:a` }));
    expect(new ClusterServers(mine as never).partition(hits)).toBeUndefined();
  });
});
