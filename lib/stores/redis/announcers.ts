import type { Bounds } from './bounded-options.js';
import { connect, connectToNode } from './connection.js';
import type { ClusterNode, StoreClient } from './connection.js';
import type { RedisConnection } from './redis-option.js';
import type { SubscriberClient } from './subscriber.js';

/** The servers on which scripts announce changes. */
export interface Announcers {
  /** Opens a connection to each, by its address: `''` where there is only one. */
  all(): ReadonlyMap<string, () => SubscriberClient>;
  /** Calls a listener whenever there may be others. */
  watch(listener: () => void): void;
}

/** A Cluster of ioredis, which finds its nodes by itself. */
interface ClusterClient extends StoreClient {
  nodes(role: 'master'): readonly ClusterNode[];
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: '+node' | '-node' | 'refresh' | 'ready' | 'close', listener: () => void): unknown;
}

/** The server behind a client, or all masters of a cluster: each announces what it has changed itself. */
export function announcersOf(client: StoreClient, redis: RedisConnection, bounds: Bounds): Announcers {
  if (client.isCluster) return new ClusterMasters(client as ClusterClient, bounds);
  const only = new Map([['', () => connect(redis, bounds) as SubscriberClient]]);
  return { all: () => only, watch: () => undefined };
}

class ClusterMasters implements Announcers {
  constructor(
    private readonly client: ClusterClient,
    private readonly bounds: Bounds,
  ) {}

  all(): ReadonlyMap<string, () => SubscriberClient> {
    return new Map(
      this.client.nodes('master').map((node) => {
        const { host, port } = node.options;
        return [`${host}:${port}`, () => connectToNode(node, this.bounds) as SubscriberClient];
      }),
    );
  }

  watch(listener: () => void): void {
    for (const event of ['+node', '-node', 'refresh'] as const) this.client.on(event, listener);
  }
}
