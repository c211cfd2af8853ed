import type { Bounds } from './bounded-options.js';
import { connect, connectToNode } from './connection.js';
import type { ClusterNode, StoreClient } from './connection.js';
import type { RedisConnection } from './redis-option.js';
import type { Site } from './site.js';
import type { SubscriberClient } from './subscriber.js';

/** The servers that announce changes. */
export interface Announcers {
  /** Functions that open a connection to each server, by address; `''` if there is only one server. */
  all(): ReadonlyMap<string, () => SubscriberClient>;
  /** Calls a listener now, and whenever the servers may have changed. */
  watch(listener: () => void): void;
}

/** A Cluster of ioredis, which discovers its nodes. */
interface ClusterClient extends StoreClient {
  nodes(role: 'master'): readonly ClusterNode[];
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: '+node' | '-node' | 'refresh' | 'connect' | 'ready' | 'close', listener: () => void): unknown;
}

/** Returns the server of a client, or all masters of a Cluster: each master announces its own changes. */
export function announcersOf(site: Site, redis: RedisConnection, bounds: Bounds): Announcers {
  const only = new Map([['', () => connect(redis, bounds) as SubscriberClient]]);
  return {
    all: () => (site.client.isCluster ? mastersOf(site.client as ClusterClient, bounds) : only),
    watch: (listener) =>
      site.watch((client) => {
        listener();
        if (client.isCluster) watchMasters(client as ClusterClient, listener);
      }),
  };
}

function mastersOf(client: ClusterClient, bounds: Bounds): ReadonlyMap<string, () => SubscriberClient> {
  return new Map(
    client.nodes('master').map((node) => {
      const { host, port } = node.options;
      return [`${host}:${port}`, () => connectToNode(node, bounds) as SubscriberClient];
    }),
  );
}

function watchMasters(client: ClusterClient, listener: () => void): void {
  for (const event of ['+node', '-node', 'refresh'] as const) client.on(event, listener);
}
