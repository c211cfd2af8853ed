import type { Next } from '../../contracts/algorithm.js';
import { DURATION_ALLOWED, parseDuration, type Duration } from '../../contracts/duration.js';
import { NEVER, type AlgorithmDefinition } from '../definition.js';
import lua from './concurrency.lua.js';

/** Options of `algorithm: 'concurrency'`, which has no window. */
export interface ConcurrencyOptions {
  /**
   * How long permits outlive a holder that died. While it lives it renews them.
   * @default '30s'
   */
  readonly lease?: Duration;
}

interface Holder {
  readonly permits: number;
  /** The instant at which the lease ends, in microseconds. */
  readonly endsAt: number;
}

/** Who holds permits, by the lease's name. */
export type ConcurrencyState = ReadonlyMap<string, Holder>;

const DEFAULT_LEASE = 30e6;

/** The holders whose leases have not ended, the next to end first. */
function holdersOf(state: ConcurrencyState | undefined, now: number): Holder[] {
  const holders = [...(state?.values() ?? [])].filter(({ endsAt }) => endsAt > now);
  return holders.sort((a, b) => a.endsAt - b.endsAt);
}

/** The state with one holder changed or gone, and without those whose leases have ended. */
function write(
  state: ConcurrencyState | undefined,
  now: number,
  name: string,
  holder?: Holder,
): Next<ConcurrencyState> {
  const holders = [...(state ?? [])].filter(([other, { endsAt }]) => other !== name && endsAt > now);
  const next = new Map(holder ? [...holders, [name, holder]] : holders);
  const last = Math.max(now, ...[...next.values()].map(({ endsAt }) => endsAt));
  return { state: next, expiresAfter: last - now };
}

/**
 * Concurrency: at most `limit` permits held at any time. A permit is held by name until it is given
 * back, or until its lease ends because the holder has died; a late release frees nobody else's.
 */
export const concurrency: AlgorithmDefinition<ConcurrencyOptions, ConcurrencyState, 'limit' | 'lease'> & {
  readonly leases: true;
} = {
  name: 'concurrency',
  parameters: ['limit', 'lease'],
  options: {
    lease: { allowed: DURATION_ALLOWED, accepts: (value) => parseDuration(value) !== undefined },
  },
  check: ({ limit }) =>
    limit > 10_000 ? `limit is ${limit}; allowed: at most 10000 permits held at a time` : undefined,
  compile: ({ limit, lease }) => ({ limit, lease: parseDuration(lease) ?? DEFAULT_LEASE }),
  leases: true,
  lua,

  step(state, now, cost, { limit, lease }, patience = 0, name = '') {
    if (limit === 0) return NEVER;

    const holders = holdersOf(state, now);
    const held = holders.reduce((sum, { permits }) => sum + permits, 0);
    const remaining = Math.max(0, limit - held);
    const heldFor = (holders.at(-1)?.endsAt ?? now) - now;

    if (cost > remaining && patience < Infinity) {
      const denied = { allowed: false, remaining, resetAfter: heldFor, delay: 0 } as const;
      if (cost > limit) return { ...denied, retryAfter: null };
      let needed = held + cost - limit;
      const freeing = holders.find(({ permits }) => (needed -= permits) <= 0)!;
      return { ...denied, retryAfter: freeing.endsAt - now };
    }

    const resetAfter = cost > 0 ? Math.max(heldFor, lease) : heldFor;
    const holder = { permits: cost, endsAt: now + lease };
    return {
      allowed: true,
      remaining: Math.max(0, remaining - cost),
      retryAfter: 0,
      resetAfter,
      delay: 0,
      ...(cost > 0 ? write(state, now, name, holder) : { state: state ?? new Map<string, Holder>() }),
      expiresAfter: resetAfter,
    };
  },

  refund(state, now, _cost, _parameters, receipt) {
    const name = String(receipt);
    const holder = state.get(name);
    return holder && holder.endsAt > now ? write(state, now, name) : undefined;
  },

  renew(state, now, { lease }, name) {
    const holder = state.get(name);
    if (!holder || holder.endsAt <= now) return undefined;
    return write(state, now, name, { permits: holder.permits, endsAt: now + lease });
  },
};
