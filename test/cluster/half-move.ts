import calculateSlot from 'cluster-key-slot';
import type { RedisCluster } from '../support/redis/cluster.js';
import type { SlotMover } from '../support/redis/slot-mover.js';

/** The move of a subject's slot to another master, stopped between two keys. */
export class HalfMove {
  private constructor(
    private readonly cluster: RedisCluster,
    private readonly slot: number,
    private readonly mover: SlotMover,
  ) {}

  static async of(cluster: RedisCluster, subject: string): Promise<HalfMove> {
    const slot = calculateSlot(subject);
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.find((node) => node !== from)!;
    return new HalfMove(cluster, slot, await cluster.mover(from, to));
  }

  /** Moves one key of the slot and leaves the others: a request for both gets TRYAGAIN. */
  async begin(key: string): Promise<void> {
    await this.mover.begin(this.slot);
    await this.mover.moveKeys(this.slot, [key]);
  }

  async end(): Promise<void> {
    await this.mover.moveKeys(this.slot);
    await this.mover.finish(this.slot);
  }

  /** Completes the move, and waits until all nodes know it. */
  async close(): Promise<void> {
    await this.end();
    this.mover.close();
    await this.cluster.untilWhole();
  }
}
