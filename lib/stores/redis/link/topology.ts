import { Cluster } from 'ioredis';
import { StoreFault } from '../../../contracts/store-fault.js';
import { isClosed } from './deadline.js';
import { addressOf, forEachNode, serverOf, type StoreClient } from './connection.js';
import { ONE_NODE } from './fault.js';
import type { RedisConnection } from '../redis-option.js';
import calculateSlot from 'cluster-key-slot';

const SLOTS = 16_384;

/**
 * Returns what a client of one server has reached instead: a node of a Redis Cluster, or the fault of a Sentinel. Without the
 * right to INFO, only a node of a Cluster reports its slots.
 */
export async function roleOf(client: StoreClient): Promise<'node' | StoreFault | undefined> {
  const info = await client.info().catch(() => undefined);
  if (info === undefined) return client.cluster('SLOTS').then(() => 'node');
  if (/^cluster_enabled:1/m.test(info)) return 'node';
  if (!/^(redis|server)_mode:sentinel/m.test(info)) return undefined;
  return noServer(client, /^master0:name=([^,]*),/m.exec(info)?.[1]);
}

/** Whether a node of a Redis Cluster serves all slots alone. */
export async function servesAllSlots(client: StoreClient): Promise<boolean> {
  const ranges = await client.cluster('SLOTS');
  const masters = new Set(ranges.map(([, , master]) => `${master?.[0]}:${master?.[1]}`));
  const served = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  return masters.size === 1 && served === SLOTS;
}

/**
 * Returns a Cluster with the options of a client of one of its nodes. The store duplicates it for its own connections.
 *
 * @throws StoreFault if the options cannot lead to a Cluster
 */
export function clusterOf(client: StoreClient): RedisConnection {
  const { host, port, path, db, sentinels, ...redisOptions } = client.options;
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
  return fault(`Redis at ${addressOf(client)}${ONE_NODE}`);
}

/** Returns the fault of a client whose server is a Sentinel. */
function noServer(client: StoreClient, master = 'mymaster'): StoreFault {
  const { host, port } = client.options;
  const fix = `redis: { sentinels: [{ host: ${JSON.stringify(host)}, port: ${port} }], name: ${JSON.stringify(master)} }`;
  const what = `Redis at ${addressOf(client)} is a Sentinel and decides nothing`;
  return new StoreFault('topology', 'SENTINEL', `${what}; write ${fix}`);
}

/** Returns the fault of a node whose Cluster serves no slots yet, or is down; `undefined` if it is up. */
export async function clusterFault(client: StoreClient): Promise<StoreFault | undefined> {
  if (!(await client.cluster('INFO')).includes('cluster_state:fail')) return undefined;
  const slots = await client.cluster('SLOTS');
  const what =
    slots.length > 0
      ? 'belongs to a Cluster that is down (CLUSTERDOWN)'
      : 'is a node of a Redis Cluster that serves no slots (CLUSTERDOWN); create the Cluster, or let the node join it';
  return new StoreFault('state', 'CLUSTERDOWN', `Redis at ${addressOf(client)} ${what}`);
}

function fault(message: string): StoreFault {
  return new StoreFault('topology', 'MOVED', message);
}

/** Returns the slot of a key. `calculateSlot` reads the whole key; that of its hash tag alone is faster. */
function slotOfTag(key: string): number {
  const first = key.indexOf('{') + 1;
  const last = key.indexOf('}', first);
  return calculateSlot(first > 0 && last > first ? key.slice(first, last) : key);
}

/** Number of requests after a refusal until calls have keys of several slots again. */
const SEPARATE_FOR = 5000;

/** Number of keys to try for one on a server. */
const MOST_TRIALS = 1000;

/** The servers of a Redis Cluster; also the only one, to which a client of a single server is connected. */
export class ClusterServers {
  /** Number of further requests whose calls have keys of one slot. */
  private separate = 0;
  /** Number of connections to servers that have been established, and that have ended. */
  private changes = 0;

  /** Returns the slot of the key on the server, where the user's `keyPrefix` may contain a hash tag. */
  readonly slotOf: (key: string) => number;

  constructor(private readonly client: StoreClient) {
    // Only a prefix with braces changes the slot of a key.
    const prefix = String(client.options.keyPrefix ?? '');
    this.slotOf = prefix.includes('{') ? (key) => slotOfTag(prefix + key) : slotOfTag;
    this.separateRanges();
    client.on('refresh', () => this.separateRanges());
    forEachNode(client, (node) => {
      let wasReady = node.status === 'ready';
      node.on('ready', () => {
        wasReady = true;
        this.changes += 1;
      });
      node.on('close', () => {
        if (wasReady) this.changes += 1;
        wasReady = false;
      });
    });
  }

  /** Gives each slot its own list, since ioredis shares that of a range, and would redirect all its slots with one of them. */
  private separateRanges(): void {
    const slots = this.client.slots as (readonly string[])[] | undefined;
    slots?.forEach((servers, slot) => (slots[slot] = [...servers]));
  }

  /** Current number of masters, including those without a connection. */
  get count(): number {
    return this.client.isCluster ? new Set(this.client.slots?.map(([master]) => master)).size : 1;
  }

  /** Returns the address of the server of a key; `''` if it is unknown. */
  of(key: string): string {
    return this.client.slots?.[this.slotOf(key)]?.[0] ?? '';
  }

  /** Returns what the keys of a call have in common: the server, or only the slot. See docs/adr/0114-one-call-a-server.md. */
  groupOf(slot: number): string | number {
    const { isCluster, slots } = this.client;
    if (this.separate === 0) return isCluster ? (slots?.[slot]?.[0] ?? slot) : '';
    this.separate -= 1;
    return slot;
  }

  /** Lets the next calls have keys of one slot, since a server has refused a call for several. */
  separateSlots(): void {
    this.separate = SEPARATE_FOR;
  }

  /** Returns the connection to a server; `undefined` if there is none, since ioredis would queue the call. */
  nodeOf(server: string): StoreClient | undefined {
    const nodes = this.client.nodes?.('master') ?? [this.client];
    const isOf = (node: StoreClient): boolean => !this.client.isCluster || serverOf(node) === server;
    return nodes.find((node) => node.status === 'ready' && isOf(node));
  }

  /**
   * Returns whether a call that is sent now to a server may have reached one when it fails with an error: ioredis queues it
   * without a connection, and rejects it if the server redirects it to one without.
   */
  reaching(server: string): (error?: unknown) => boolean {
    const { changes } = this;
    const isConnected = this.nodeOf(server) !== undefined;
    return (error) => changes !== this.changes || (isConnected && !isClosed(error));
  }

  /** Whether there is a connection to the server of a key, or an attempt to establish one. */
  hasNodeFor(key: string): boolean {
    const server = this.of(key);
    return this.client.nodes?.('master').some((node) => serverOf(node) === server) ?? false;
  }

  /** Returns a key with the prefix of the given one on a server that meets a condition; `undefined` if none is found. */
  keyOn(key: string, isMet: (server: string) => boolean): string | undefined {
    const prefix = key.slice(0, key.indexOf('{'));
    for (let nth = 0; nth < MOST_TRIALS; nth += 1) {
      const other = `${prefix}{${nth}}`;
      if (isMet(this.of(other))) return other;
    }
    return undefined;
  }

  /** Divides elements by the slots of their keys, for one call each; `undefined` if one call suffices. */
  partition<Keyed extends { readonly key: string }>(all: readonly Keyed[]): readonly Keyed[][] | undefined {
    if (all.length < 2) return undefined;
    const parts = new Map<number, Keyed[]>();
    for (const each of all) {
      const slot = this.slotOf(each.key);
      const part = parts.get(slot);
      if (part) part.push(each);
      else parts.set(slot, [each]);
    }
    return parts.size > 1 ? [...parts.values()] : undefined;
  }

  /** Sends several calls so that those to one server are written together. */
  sendTogether(send: () => void): void {
    const sockets = (this.client.nodes?.('master') ?? []).map(({ stream }) => stream);
    for (const socket of sockets) socket?.cork();
    try {
      send();
    } finally {
      for (const socket of sockets) socket?.uncork();
    }
  }
}
