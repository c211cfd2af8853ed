import { Cluster, type RedisOptions } from 'ioredis';
import { StoreFault } from '../../contracts/store-fault.js';
import { addressOf, type StoreClient } from './connection.js';
import { nodeOfCluster } from './fault.js';
import type { RedisConnection } from './redis-option.js';

const SLOTS = 16_384;

/** The part of an ioredis client that reports the role of its server. */
interface Scout extends StoreClient {
  info(): Promise<string>;
  cluster(subcommand: 'SLOTS'): Promise<unknown>;
}

/** The role of a server: `node` of a Redis Cluster, or `sentinel` with the name of a master that it monitors. */
export type ServerRole =
  { readonly kind: 'server' | 'node' } | { readonly kind: 'sentinel'; readonly master: string | undefined };

type SlotRange = readonly [first: number, last: number, master: readonly [host: string, port: number]];

/** Returns the role of a client's server. Without the right to INFO, only a node of a Cluster reports its slots. */
export async function roleOf(client: StoreClient): Promise<ServerRole> {
  const info = await (client as Scout).info().catch(() => undefined);
  if (info === undefined) return slotsOf(client).then(() => ({ kind: 'node' }));
  if (/^cluster_enabled:1/m.test(info)) return { kind: 'node' };
  if (!/^(redis|server)_mode:sentinel/m.test(info)) return { kind: 'server' };
  return { kind: 'sentinel', master: /^master0:name=([^,]*),/m.exec(info)?.[1] };
}

/** Whether no node of a Redis Cluster serves any slot, according to this node. */
export async function servesNoSlots(client: StoreClient): Promise<boolean> {
  return (await slotsOf(client)).length === 0;
}

/** Whether a node of a Redis Cluster serves all slots alone. */
export async function servesAllSlots(client: StoreClient): Promise<boolean> {
  const ranges = await slotsOf(client);
  const masters = new Set(ranges.map(([, , [host, port]]) => `${host}:${port}`));
  const served = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return masters.size === 1 && served === SLOTS;
}

async function slotsOf(client: StoreClient): Promise<readonly SlotRange[]> {
  return (await (client as Scout).cluster('SLOTS')) as readonly SlotRange[];
}

/**
 * Returns a Cluster with the options of a client of one of its nodes. The store duplicates it for its own connections.
 *
 * @throws StoreFault if the options cannot lead to a Cluster
 */
export function clusterOf(client: StoreClient): RedisConnection {
  const { host, port, path, db, sentinels, ...redisOptions } = client.options as RedisOptions;
  if (path !== undefined || sentinels) throw oneOfSeveral(client);
  if (db) throw fault(`got database ${db}; a Redis Cluster has only database 0`);
  return new Cluster([{ host: host!, port: port! }], {
    lazyConnect: true,
    // Host names are kept, since certificates contain names.
    dnsLookup: (address, callback) => callback(null, address),
    redisOptions: redisOptions as object,
  });
}

/** Returns the fault of a client that reaches only one of several servers. */
export function oneOfSeveral(client: StoreClient): StoreFault {
  return fault(nodeOfCluster(`Redis at ${addressOf(client)}`));
}

/** Returns the fault of a client whose server is a Sentinel. */
export function noServer(client: StoreClient, master = 'mymaster'): StoreFault {
  const { host, port } = client.options ?? {};
  const fix = `redis: { sentinels: [{ host: ${JSON.stringify(host)}, port: ${port} }], name: ${JSON.stringify(master)} }`;
  return new StoreFault(
    'topology',
    'SENTINEL',
    `Redis at ${addressOf(client)} is a Sentinel and decides nothing; write ${fix}`,
  );
}

/** Returns the fault of a node whose Cluster serves no slots yet. */
export function noSlots(client: StoreClient): StoreFault {
  const what = `Redis at ${addressOf(client)} is a node of a Redis Cluster that serves no slots (CLUSTERDOWN)`;
  return new StoreFault('state', 'CLUSTERDOWN', `${what}; create the Cluster, or let the node join it`);
}

function fault(message: string): StoreFault {
  return new StoreFault('topology', 'MOVED', message);
}
