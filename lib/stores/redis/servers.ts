import calculateSlot from 'cluster-key-slot';
import type { StoreClient } from './connection.js';

/** Finds the server of a key. */
export interface Servers {
  /** Current number of servers that decide, including those without a connection. */
  readonly count: number;
  /** Returns the address of the server of a key; `''` if there is only one server, or it is unknown. */
  of(key: string): string;
  /** Returns the slot of a key; 0 if there are no slots. */
  slotOf(key: string): number;
  /** Divides elements by the slots of their keys, for one call each; `undefined` if one call suffices. */
  partition<Keyed extends { readonly key: string }>(all: readonly Keyed[]): readonly Keyed[][] | undefined;
  /** Sends several calls so that those to one server are written together. */
  sendTogether(send: () => void): void;
  /** Closes the connection to a server; a new one is opened. */
  hangUp(server: string): void;
}

/** One server, or one master with its replicas. */
class SingleServer implements Servers {
  readonly count = 1;

  constructor(private readonly client: StoreClient) {}

  of(): string {
    return '';
  }

  slotOf(): number {
    return 0;
  }

  partition(): undefined {
    return undefined;
  }

  sendTogether(send: () => void): void {
    send();
  }

  hangUp(): void {
    this.client.disconnect(true);
  }
}

/** Redis Cluster runs a script only on keys of one slot. */
class ClusterServers implements Servers {
  /** Returns the slot of the key on the server, where the user's `keyPrefix` may contain a hash tag. */
  readonly slotOf: (key: string) => number;

  /** @param client with `slots`: for each slot the addresses of its servers, the master first */
  constructor(private readonly client: StoreClient & { readonly slots?: readonly (readonly string[])[] }) {
    // Only a prefix with braces changes the slot of a key.
    const prefix = String(client.options?.keyPrefix ?? '');
    this.slotOf = prefix.includes('{') ? (key) => calculateSlot(prefix + key) : calculateSlot;
  }

  get count(): number {
    return new Set(this.client.slots?.map(([master]) => master)).size;
  }

  of(key: string): string {
    return this.client.slots?.[this.slotOf(key)]?.[0] ?? '';
  }

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

  sendTogether(send: () => void): void {
    const sockets = (this.client.nodes?.('master') ?? []).map(({ stream }) => stream);
    for (const socket of sockets) socket?.cork();
    try {
      send();
    } finally {
      for (const socket of sockets) socket?.uncork();
    }
  }

  hangUp(server: string): void {
    for (const node of this.client.nodes?.('master') ?? []) {
      const { host, port } = node.options ?? {};
      if (`${host}:${port}` === server) node.disconnect(true);
    }
  }
}

/** Returns the servers of a client. */
export function serversOf(client: StoreClient): Servers {
  return client.isCluster ? new ClusterServers(client) : new SingleServer(client);
}
