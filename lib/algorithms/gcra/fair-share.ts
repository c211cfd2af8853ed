import type { Next } from '../../contracts/algorithm.js';
import type { Variant } from '../definition.js';
import { allow, deny, NEVER } from '../result.js';
import { setBack } from '../../contracts/clock.js';
import { capacityOf, permitsOf, timePart, type Capacity } from '../burst.js';
import type { FairShare } from '../fair-share-option.js';
import {
  charge,
  giveBack,
  holdOf,
  join,
  keepTime,
  MOST_TENANTS,
  partOf,
  read,
  refill,
  remainingOf,
  waitFor,
  type FairShareParameter,
  type FairShareState,
  type Shares,
} from './tenants.js';

/** The options of gcra that a fair share reads, or that it excludes. */
interface FairShareOptions {
  readonly share?: FairShare;
  readonly burst?: Capacity;
  readonly block?: unknown;
  readonly overdraft?: boolean;
}

/** The units of a burst are exact, with room for debt. */
const LARGEST = 2 ** 51;

/** Number of tenants that take as much memory as a key. */
const TENANTS_PER_SIZE = 4;

/** Returns how long until nothing is missing, in microseconds. */
function resetAfterOf(shares: Shares, now: number, limit: number): number {
  return shares.at - now + Math.ceil(shares.total / limit);
}

/** Returns the state to store. */
function next(shares: Shares, now: number, parameters: Parameters<typeof keepTime>[0]): Next<FairShareState> {
  const { at, pool, tenants } = shares;
  const kept = at - now + keepTime(parameters);
  return {
    state: { at, pool, tenants },
    expiresAfter: Math.max(kept, resetAfterOf(shares, now, parameters.limit)),
  };
}

/**
 * Fair shares of one limit: the limit applies to all tenants together, and what is added per microsecond is divided by
 * weight among those that miss permits (max-min fairness). Each tenant that has a place is guaranteed the part of its
 * weight among all places, even if others have taken the whole burst.
 *
 * See docs/adr/0070-fair-shares.md.
 */
export const fairShare: Variant<FairShareOptions, FairShareState, FairShareParameter> = {
  name: 'gcra-fair-share',
  version: 3,
  parameters: ['limit', 'window', 'burst', 'places', 'tenant', 'weight'],
  check(rule) {
    const { limit, window, block, overdraft } = rule;
    const burst = permitsOf(rule.burst ?? limit, rule);
    if (overdraft !== undefined) return `overdraft is ${String(overdraft)}; allowed: none with share`;
    if (block !== undefined) {
      return `block is ${JSON.stringify(block)}; allowed: none with share, whose tenants have one key`;
    }
    if (burst * window <= LARGEST) return undefined;
    const most = Math.floor(LARGEST / window);
    return `burst x window is too large for share; allowed: a burst of at most ${most} with this window, or a shorter window`;
  },
  capacity: ({ burst }) => burst,
  keyParts: (rule) => timePart(rule.burst, rule),
  perProcess: ({ limit, burst = limit }, processes) => ({ burst: capacityOf(burst, processes) }),
  compile(rule) {
    const { limit, window, share } = rule;
    const places = MOST_TENANTS + 1 + Object.keys(share?.weights ?? {}).length;
    return { limit, window, burst: permitsOf(rule.burst ?? limit, rule), places, tenant: 1, weight: 1 };
  },
  isAhead: ({ at }, now) => setBack(at, now) > 0,
  bySubject({ share }) {
    const { weights = {}, weight: usual = 1 } = share ?? {};
    const known = new Map(Object.entries(weights));
    return (subject, number) => {
      const weight = known.get(subject);
      return weight === undefined ? { tenant: number, weight: usual } : { tenant: -number, weight };
    };
  },

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, burst } = parameters;
    if (limit === 0) return NEVER;

    const shares = read(state, now, parameters);
    const me = join(shares, parameters);
    const hold = holdOf(shares, me, parameters);
    const wait = waitFor(shares, me, cost * window, hold, parameters);
    const isDenied = cost > 0 && maxWait < Infinity && (cost > burst || wait > 0);
    if (!isDenied && cost > 0) charge(shares, me, cost, parameters);
    const remaining = remainingOf(shares, me, hold, parameters);
    const resetAfter = resetAfterOf(shares, now, limit);
    const part = partOf(shares, me, parameters);
    const after = next(shares, now, parameters);
    if (!isDenied) return { ...allow(remaining, 0, resetAfter, after.state, after.expiresAfter), part };
    const retryAfter = cost > burst ? null : shares.at - now + wait;
    return { ...deny(remaining, retryAfter, resetAfter), part, asked: after };
  },

  /** A charge expires gradually as units are added: at most what can be left of it is refunded. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, window } = parameters;
    if (limit === 0) return undefined;
    const shares = read(state, now, parameters);
    const endsAt = now + resetAfterOf(shares, now, limit);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    giveBack(
      shares,
      Math.min(cost * window, (Number(receipt) - now) * limit, shares.total),
      cost,
      parameters,
    );
    return next(shares, now, parameters);
  },

  clear(state, now, parameters) {
    if (parameters.limit === 0) return undefined;
    const shares = read(state, now, parameters);
    return refill(shares, parameters) ? next(shares, now, parameters) : undefined;
  },

  sizeOf: ({ tenants }) => 1 + Math.floor(tenants.length / TENANTS_PER_SIZE),
};
