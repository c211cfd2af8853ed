import { Cluster, type RedisOptions } from 'ioredis';
import type { Bounds } from './bounded-options.js';
import { addressOf, connect, firstConnection, type StoreClient } from './connection.js';
import { Deadline } from './deadline.js';
import { nodeOfCluster } from './fault.js';
import { isUserClient, type RedisConnection } from './redis-option.js';

const SLOTS = 16_384;

/** The part of an ioredis client that reports what its server is. */
interface Scout extends StoreClient {
  info(section: string): Promise<string>;
  cluster(subcommand: 'SLOTS'): Promise<unknown>;
}

type SlotRange = readonly [first: number, last: number, master: readonly [host: string, port: number]];

/**
 * The connection to use for what the user gave: a Cluster where a URL or options lead to a node of one.
 * What cannot be found out stays as it is: the first MOVED will open the circuit breaker.
 *
 * @throws Error if the user's own client is none of a Cluster, and its server does not serve all slots
 */
export async function withTopology(redis: RedisConnection, bounds: Bounds): Promise<RedisConnection> {
  if (isCluster(redis)) return redis;
  const scout = connect(redis, bounds) as Scout;
  scout.on('error', () => undefined); // The store's own connection reports it.
  try {
    await firstConnection(scout, bounds.connectTimeout);
    if (scout.status !== 'ready') return redis;
    const served = await new Deadline(bounds.connectTimeout).within(slotsServed(scout)).catch(() => SLOTS);
    if (served === undefined) return redis;
    if (typeof redis === 'string' || !isUserClient(redis)) return clusterOf(scout);
    if (served < SLOTS) throw new Error(`redis: ${nodeOfCluster(`Redis at ${addressOf(scout)}`)}`);
    return redis;
  } finally {
    scout.disconnect();
  }
}

function isCluster(redis: RedisConnection): boolean {
  return typeof redis === 'object' && isUserClient(redis) && redis.isCluster === true;
}

/** How many slots a node of a Cluster serves alone; `undefined` where there is no Cluster. */
async function slotsServed(scout: Scout): Promise<number | undefined> {
  if (!/^cluster_enabled:1/m.test(await scout.info('cluster'))) return undefined;
  const ranges = (await scout.cluster('SLOTS')) as readonly SlotRange[];
  const masters = new Map<string, number>();
  for (const [first, last, [host, port]] of ranges) {
    const master = `${host}:${port}`;
    masters.set(master, (masters.get(master) ?? 0) + last - first + 1);
  }
  return masters.size === 1 ? [...masters.values()][0] : 0;
}

/** A Cluster that is only the model for the store's own. */
function clusterOf(scout: Scout): RedisConnection {
  const { host, port, path, db, sentinels, ...redisOptions } = scout.options as RedisOptions;
  if (path !== undefined || sentinels) {
    throw new Error(`redis: ${nodeOfCluster(`Redis at ${addressOf(scout)}`)}`);
  }
  if (db) throw new Error(`redis: got database ${db}; a Redis Cluster has only database 0`);
  return new Cluster([{ host: host!, port: port! }], {
    lazyConnect: true,
    // Names of hosts are kept, since certificates are for names.
    dnsLookup: (address, callback) => callback(null, address),
    redisOptions: redisOptions as object,
  });
}
