import calculateSlot from 'cluster-key-slot';
import type { StoreClient } from './connection.js';

/** Knows on which server of a Redis a key is. */
export interface Servers {
  /** How many servers decide, those included to which there is no connection; counted when asked for. */
  readonly count: number;
  /** The address of the server, `''` where there is only one or it is not known. */
  of(key: string): string;
  /** The slot of a key, 0 where there are none. */
  slotOf(key: string): number;
  /** Parts what has keys so that each part is one script's; `undefined` if one script can have it all. */
  partition<Keyed extends { readonly key: string }>(all: readonly Keyed[]): readonly Keyed[][] | undefined;
  /** Sends calls of which several may go to one server: it gets them in one piece. */
  sendTogether(send: () => void): void;
  /** Cuts the connection to a server; a new one is made. */
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
  /** As the server sees the key: what the user's client puts in front may have a hash tag. */
  readonly slotOf: (key: string) => number;

  /** @param slots for each slot the addresses that serve it, the master's first */
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

/** The servers behind a client. */
export function serversOf(client: StoreClient): Servers {
  return client.isCluster ? new ClusterServers(client) : new SingleServer(client);
}
