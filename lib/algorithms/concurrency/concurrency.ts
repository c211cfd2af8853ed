import type { Next } from '../../contracts/algorithm.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import {
  concurrencyTerms,
  MOST_AT_ONCE,
  type ConcurrencyOptions,
  type ConcurrencyParameter,
} from './concurrency-options.js';
import lua from './concurrency.lua.js';
import { HeldPermits } from './held-permits.js';

export type { ConcurrencyOptions };

/** Number of holders that take as much memory as a key. */
const HOLDERS_PER_SIZE = 2;

/**
 * Concurrency: at most `limit` permits are held at any time. A permit is held under a name until it is released, or
 * until its lease ends because the holder has died. A late release frees no permit of another holder.
 */
export const concurrency: AlgorithmDefinition<ConcurrencyOptions, HeldPermits, ConcurrencyParameter> & {
  readonly leases: true;
} = {
  name: 'concurrency',
  ...concurrencyTerms,
  leases: true,
  lua,

  step(state, now, cost, { limit, lease }, patience = 0, name = '') {
    if (limit === 0) return NEVER;

    const holders = state ?? HeldPermits.none();
    const held = holders.count(now);
    const remaining = Math.max(0, limit - held);
    const heldFor = held > 0 ? holders.lastEnd(now) - now : 0;

    if (cost > MOST_AT_ONCE || (cost > remaining && patience < Infinity)) {
      const denied = { allowed: false, remaining, resetAfter: heldFor, delay: 0 } as const;
      if (cost > Math.min(limit, MOST_AT_ONCE)) return { ...denied, retryAfter: null };
      return { ...denied, retryAfter: freeingEnd(holders, now, held + cost - limit) - now };
    }

    const resetAfter = cost > 0 ? Math.max(heldFor, lease) : heldFor;
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      state: cost > 0 ? holders.put({ name, permits: cost, endsAt: now + lease }, now) : holders,
      expiresAfter: resetAfter,
    };
  },

  refund(state, now, _cost, _parameters, receipt) {
    const holder = state.get(String(receipt), now);
    return holder && next(state.remove(holder.name, now), now);
  },

  renew(state, now, { lease }, name) {
    const holder = state.get(name, now);
    return holder && next(state.put({ ...holder, endsAt: now + lease }, now), now);
  },

  sizeOf: (state) => 2 + Math.floor(state.heldCount / HOLDERS_PER_SIZE),
};

/** Returns the instant at which enough leases have ended to free `needed` permits. */
function freeingEnd(holders: HeldPermits, now: number, needed: number): number {
  let missing = needed;
  for (const { permits, endsAt } of holders.live(now)) {
    missing -= permits;
    if (missing <= 0) return endsAt;
  }
  return Infinity;
}

function next(state: HeldPermits, now: number): Next<HeldPermits> {
  return { state, expiresAfter: state.lastEnd(now) - now };
}
