import type { BaseStore } from '../contracts/base-store.js';
import type { Adjustment, Store } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import { AbandonedRequests, type Adjusts } from './abandoned-requests.js';
import { Leases } from './leases.js';
import { WaitingRoom } from './waiting-room.js';

/** What a limiter needs when requests wait for permits, or hold them. */
export class Waits {
  readonly room: WaitingRoom;
  readonly leases: Leases<Adjustment>;
  readonly abandoned: AbandonedRequests;

  /**
   * @param store decides, with all layers
   * @param base reports turns
   * @param instance prefix of the names of this process's leases
   */
  constructor(store: Store<RuleHit>, base: BaseStore, adjust: Adjusts, prefix: string, instance: string) {
    this.room = new WaitingRoom(store, base, prefix, instance);
    this.leases = new Leases<Adjustment>(adjust);
    this.abandoned = new AbandonedRequests(adjust, base.clock);
  }
}
