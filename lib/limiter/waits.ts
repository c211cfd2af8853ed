import type { BaseStore } from '../contracts/base-store.js';
import type { Adjustment, Store } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { AbandonedRequests, type Adjusts } from './abandoned-requests.js';
import { Leases } from './leases.js';
import { WaitingRoom } from './waiting-room.js';

/** What a limiter needs when requests wait for permits, or hold them. */
export class Waits {
  readonly room: WaitingRoom;
  readonly leases: Leases;
  private readonly abandoned: AbandonedRequests;

  /**
   * @param store decides, with all layers
   * @param base reports turns
   * @param instance prefix of the names of this process's leases
   */
  constructor(
    store: Store<RuleHit>,
    base: BaseStore,
    private readonly adjust: Adjusts,
    prefix: string,
    instance: string,
  ) {
    this.room = new WaitingRoom(store, base, prefix, instance);
    this.leases = new Leases(adjust);
    this.abandoned = new AbandonedRequests(adjust, base.clock);
  }

  /** Refunds a request that leaves its queues: there, only what no later request waits behind. */
  async abandon(hits: readonly RuleHit[], refunds: readonly Adjustment[]): Promise<void> {
    const queues = new Set(hits.filter(({ rule }) => rule.queues).map(({ key }) => key));
    const others = refunds.filter(({ key }) => !queues.has(key));
    await Promise.all([
      this.abandoned.refund(refunds.filter(({ key }) => queues.has(key))),
      others.length > 0 ? this.adjust(others) : undefined,
    ]);
  }
}
