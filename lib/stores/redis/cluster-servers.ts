import calculateSlot from 'cluster-key-slot';
import type { StoreClient } from './connection.js';

/** The servers of a Redis Cluster, which runs a script only on keys of one slot. */
export class ClusterServers {
  /** Returns the slot of the key on the server, where the user's `keyPrefix` may contain a hash tag. */
  readonly slotOf: (key: string) => number;

  /** @param client with `slots`: for each slot the addresses of its servers, the master first */
  constructor(private readonly client: StoreClient & { readonly slots?: readonly (readonly string[])[] }) {
    // Only a prefix with braces changes the slot of a key.
    const prefix = String(client.options?.keyPrefix ?? '');
    this.slotOf = prefix.includes('{') ? (key) => calculateSlot(prefix + key) : calculateSlot;
  }

  /** Current number of masters, including those without a connection. */
  get count(): number {
    return new Set(this.client.slots?.map(([master]) => master)).size;
  }

  /** Returns the address of the server of a key; `''` if it is unknown. */
  of(key: string): string {
    return this.client.slots?.[this.slotOf(key)]?.[0] ?? '';
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

  /** Closes the connection to a server; a new one is opened. */
  hangUp(server: string): void {
    for (const node of this.client.nodes?.('master') ?? []) {
      const { host, port } = node.options ?? {};
      if (`${host}:${port}` === server) node.disconnect(true);
    }
  }
}
