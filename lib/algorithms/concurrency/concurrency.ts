import type { Next } from '../../contracts/algorithm.js';
import { parseDuration, type Duration } from '../../contracts/duration.js';
import type { AlgorithmDefinition } from '../definition.js';
import { durationOption } from '../option-checks.js';
import { allow, deny, NEVER } from '../result.js';
import { concurrencyExamples } from './concurrency.examples.js';
import lua from './concurrency.lua.js';
import { HeldPermits } from './held-permits.js';

/** Options of `algorithm: 'concurrency'`, which has no window. */
export interface ConcurrencyOptions {
  /**
   * How long permits survive without renewal, up to 366 days. A process renews the permits that it holds, so this
   * is the time until the permits of a process that died are available again.
   * @default '30s'
   */
  readonly lease?: Duration;
}

type ConcurrencyParameter = 'limit' | 'lease';

const DEFAULT_LEASE = 30e6;
const MOST_HELD = 10_000;

/** Maximum number of permits of one lease: they are added and removed one by one, and no call moves more. */
export const MOST_AT_ONCE = 1000;

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
  bound: 'at a time',
  examples: concurrencyExamples,
  parameters: ['limit', 'lease'],
  options: { lease: durationOption },
  check({ limit, cost = 1 }) {
    if (limit > MOST_HELD) return `limit is ${limit}; allowed: at most ${MOST_HELD} permits held at a time`;
    if (cost <= MOST_AT_ONCE) return undefined;
    return `cost is ${cost}; allowed with concurrency: at most ${MOST_AT_ONCE} permits for one holder`;
  },
  compile: ({ limit, lease }) => ({ limit, lease: parseDuration(lease) ?? DEFAULT_LEASE }),
  leases: true,
  lua,

  step(state, now, cost, { limit, lease }, patience = 0, name = '') {
    if (limit === 0) return NEVER;

    const holders = state ?? HeldPermits.none();
    const held = holders.count(now);
    const remaining = Math.max(0, limit - held);
    const heldFor = held > 0 ? holders.lastEnd(now) - now : 0;

    if (cost > MOST_AT_ONCE || (cost > remaining && patience < Infinity)) {
      if (cost > Math.min(limit, MOST_AT_ONCE)) return deny(remaining, null, heldFor);
      return deny(remaining, freeingEnd(holders, now, held + cost - limit) - now, heldFor);
    }

    const resetAfter = cost > 0 ? Math.max(heldFor, lease) : heldFor;
    const next = cost > 0 ? holders.put({ name, permits: cost, endsAt: now + lease }, now) : holders;
    return allow(Math.max(0, remaining - cost), 0, resetAfter, next, resetAfter);
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
