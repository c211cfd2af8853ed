import type { BaseStore } from '../contracts/base-store.js';
import type { Store } from '../contracts/store.js';
import type { RuleHit } from '../rules/compiled-rule.js';
import type { Keys } from '../rules/keys.js';
import { AbandonedRequests, type Adjusts } from './abandoned-requests.js';
import { Leases } from './leases.js';
import { WaitingRoom } from './waiting-room.js';

/** What a limiter needs when requests wait for permits, or hold them. */
export type Waits = ReturnType<typeof waitsOf>;

/**
 * Returns what waits for permits, and what holds them.
 *
 * @param store decides, with all layers
 * @param base reports turns
 */
export function waitsOf(store: Store<RuleHit>, base: BaseStore, adjust: Adjusts, { prefix, instance }: Keys) {
  return {
    room: new WaitingRoom(store, base, prefix, instance),
    leases: new Leases(adjust),
    abandoned: new AbandonedRequests(adjust, base.clock),
  };
}
