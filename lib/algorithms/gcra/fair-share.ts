import type { Next, SharePart } from '../../contracts/algorithm.js';
import { allow, deny, NEVER, type Variant } from '../definition.js';
import { setBack } from '../../contracts/clock.js';
import { capacityOf, permitsOf, timePart, type Capacity, type Overdrawable } from '../burst.js';
import type { FairShare } from '../fair-share-option.js';
import {
  MOST_TENANTS,
  Shares,
  type FairShareState,
  type Hold,
  type Parameters,
  type Tenant,
} from './tenants.js';

/** The options of gcra that a fair share reads, or that it excludes. */
interface FairShareOptions extends Overdrawable {
  readonly share?: FairShare;
  readonly burst?: Capacity;
  readonly block?: unknown;
}

/** The units of a burst are exact, with room for debt. */
const LARGEST = 2 ** 51;

/** Number of tenants that take as much memory as a key. */
const TENANTS_PER_SIZE = 4;

/** Returns the shares that a state has now. */
function read(state: FairShareState | undefined, now: number, parameters: Parameters): Shares {
  return new Shares(state ?? { at: now, pool: 0, tenants: [] }, now, parameters);
}

/** Returns how long until nothing is missing, in microseconds. */
function resetAfterOf({ at, total, parameters }: Shares, now: number): number {
  return at - now + Math.ceil(total / parameters.limit);
}

/** Returns the state to store. */
function next(shares: Shares, now: number): Next<FairShareState> {
  const { at, pool, tenants } = shares;
  const kept = at - now + shares.keepTime;
  return { state: { at, pool, tenants }, expiresAfter: Math.max(kept, resetAfterOf(shares, now)) };
}

/**
 * Returns the time until some units are within the guaranteed part of a tenant: its part of the limit among all places,
 * with a tolerance of its part of the burst, at least these units. While units are spare, it may take them even if others
 * have taken the whole burst.
 */
function guaranteedAfter(shares: Shares, me: Tenant, units: number): number {
  const { limit, window, burst, places } = shares.parameters;
  const tolerance = Math.max(0, shares.fillTime - shares.timeOf(units, me));
  const owed = Math.max(0, me.due - shares.at - tolerance);
  if (shares.spare > 0) return owed;
  const most = (burst + places - shares.tenants.length) * window - shares.weights; // The pool is less than the weights.
  return Math.max(owed, Math.ceil((shares.total + 1 - most) / limit));
}

/** Returns the time after which a tenant misses at most `most` units if no request arrives, in microseconds. */
function filledAfter({ pool, tenants, parameters }: Shares, me: Tenant, most: number): number {
  if (me.missing <= most) return 0;
  const reached = Math.ceil((me.missing - most) / me.weight);
  let units = -pool;
  for (const { weight, missing } of tenants) units += Math.min(reached * weight, missing);
  return Math.ceil(units / parameters.limit);
}

/** Returns the time until some units fit what a tenant can miss, which grows as others become idle, in microseconds. */
function fitsAfter(shares: Shares, me: Tenant, units: number, hold: Hold): number {
  for (let after = 0, { most, until } = hold; ;) {
    const filled = filledAfter(shares, me, Math.max(most, units) - units);
    if (filled <= until) return Math.max(after, filled);
    after = until;
    ({ most, until } = shares.holdOf(me, after));
  }
}

/** Returns the time until a tenant that keeps its place misses nothing, and so may take a permit in any case. */
function wholeAfter(shares: Shares, me: Tenant, units: number): number {
  const { window } = shares.parameters;
  if (units > window || !shares.tenants.includes(me)) return Infinity;
  const filled = filledAfter(shares, me, window - units);
  return filled < shares.keepTime ? filled : Infinity;
}

/** Returns the time until a tenant may take some units if no request arrives, in microseconds: 0 if it may now. */
function waitFor(shares: Shares, me: Tenant, units: number, hold: Hold): number {
  const { limit, window, burst } = shares.parameters;
  const own = Math.min(wholeAfter(shares, me, units), guaranteedAfter(shares, me, units));
  const above = Math.ceil((shares.total + units - burst * window) / limit);
  if (own <= above) return own;
  return Math.min(own, Math.max(0, above, fitsAfter(shares, me, units, hold)));
}

/** Returns the permits that a tenant can take one after the other. */
function remainingOf(shares: Shares, me: Tenant, hold: Hold): number {
  const { window, burst } = shares.parameters;
  const held = Math.min(hold.most - me.missing, burst * window - shares.total);
  const tolerance = shares.fillTime - Math.max(0, me.due - shares.at);
  const guaranteed = Math.min(
    Math.floor(tolerance / shares.timeOf(window, me)),
    Math.ceil(shares.spare / window),
  );
  const permits = Math.max(Math.floor(held / window), guaranteed);
  return permits > 0 ? permits : Number(waitFor(shares, me, window, hold) === 0);
}

/** Returns the part that a tenant has of the limit. */
function partOf({ weights, parameters }: Shares, { weight, taken }: Tenant): SharePart {
  const guaranteed = Math.floor((parameters.limit * weight) / weights);
  return { guaranteed, borrowed: Math.max(0, taken - guaranteed) };
}

/**
 * Fair shares of one limit: the limit applies to all tenants together, and what is added per microsecond is divided by
 * weight among those that miss permits (max-min fairness). Each tenant that has a place is guaranteed the part of its
 * weight among all places, even if others have taken the whole burst.
 *
 * See docs/adr/0070-fair-shares.md.
 */
export const fairShare: Variant<FairShareOptions, FairShareState, keyof Parameters> = {
  name: 'gcra-fair-share',
  version: 3,
  parameters: ['limit', 'window', 'burst', 'places', 'tenant', 'weight'],
  check(rule) {
    const { window, block, overdraft } = rule;
    const burst = permitsOf(rule.burst, rule);
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
    return { limit, window, burst: permitsOf(rule.burst, rule), places, tenant: 1, weight: 1 };
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
    const me = shares.join();
    const hold = shares.holdOf(me);
    const wait = waitFor(shares, me, cost * window, hold);
    const isDenied = cost > 0 && maxWait < Infinity && (cost > burst || wait > 0);
    if (!isDenied && cost > 0) shares.charge(me, cost);
    const remaining = remainingOf(shares, me, hold);
    const resetAfter = resetAfterOf(shares, now);
    const part = partOf(shares, me);
    const after = next(shares, now);
    if (!isDenied) return { ...allow(remaining, 0, resetAfter, after.state, after.expiresAfter), part };
    const retryAfter = cost > burst ? null : shares.at - now + wait;
    return { ...deny(remaining, retryAfter, resetAfter), part, asked: after };
  },

  /** A charge expires gradually as units are added: at most what can be left of it is refunded. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, window } = parameters;
    if (limit === 0) return undefined;
    const shares = read(state, now, parameters);
    const endsAt = now + resetAfterOf(shares, now);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    shares.refund(Math.min(cost * window, (Number(receipt) - now) * limit, shares.total), cost);
    return next(shares, now);
  },

  clear(state, now, parameters) {
    if (parameters.limit === 0) return undefined;
    const shares = read(state, now, parameters);
    return shares.refill() ? next(shares, now) : undefined;
  },

  sizeOf: ({ tenants }) => 1 + Math.floor(tenants.length / TENANTS_PER_SIZE),
};
