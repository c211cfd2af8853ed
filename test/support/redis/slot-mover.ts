import type { Redis } from 'ioredis';
import { openAdmin } from './ask-server.js';
import type { RedisServer } from './redis-server.mjs';
import { until } from './until.mjs';

/** Moves slots from one master to another step by step, so that a test can observe clients in between. */
export class SlotMover {
  private readonly source: Redis;
  private readonly target: Redis;
  private readonly others: readonly Redis[];

  /** @param masters all masters of the cluster, which must know the owner of a slot */
  constructor(
    from: RedisServer,
    private readonly to: RedisServer,
    private readonly ids: { from: string; to: string },
    masters: readonly RedisServer[],
  ) {
    this.source = openAdmin(from);
    this.target = openAdmin(to);
    this.others = masters.filter((master) => master !== from && master !== to).map(openAdmin);
  }

  /**
   * Waits until all masters know of the moves before. Otherwise the target could claim a slot with an epoch that another
   * node has used, and lose it again.
   */
  async ready(): Promise<void> {
    const nodes = [this.source, this.target, ...this.others];
    const epochOf = async (node: Redis): Promise<string> =>
      /cluster_current_epoch:(\d+)/.exec(String(await node.call('CLUSTER', 'INFO')))![1]!;
    const agree = async () => new Set(await Promise.all(nodes.map(epochOf))).size === 1;
    await until(agree, 'the masters to agree on the epoch', 60_000);
  }

  /** From now on, the source redirects clients to the target (ASK) for keys that it does not have. */
  async begin(slot: number): Promise<void> {
    await this.target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', this.ids.from);
    await this.source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', this.ids.to);
  }

  /** Moves these keys, or all keys of the slot. */
  async moveKeys(slot: number, keys?: string[]): Promise<void> {
    if (keys) return this.migrate(keys);
    for (;;) {
      const found = (await this.source.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
      if (found.length === 0) return;
      await this.migrate(found);
    }
  }

  /** From now on, the target serves the slot, and the other masters redirect clients there (MOVED). */
  async finish(slot: number): Promise<void> {
    // The target first, because otherwise both would redirect clients to each other for a moment.
    for (const node of [this.target, this.source, ...this.others]) {
      await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', this.ids.to);
    }
  }

  close(): void {
    for (const redis of [this.source, this.target, ...this.others]) redis.disconnect();
  }

  /** A MIGRATE that is repeated on a new connection would find the keys that it sent before; the source's are in use. */
  private async migrate(keys: string[]): Promise<void> {
    await this.source.call('MIGRATE', this.to.host, this.to.port, '', 0, 5000, 'REPLACE', 'KEYS', ...keys);
  }
}
