import type { Variant } from '../definition.js';
import { LONGEST } from '../rate.js';
import { allow, deny, NEVER } from '../result.js';
import { setBack } from '../../contracts/set-back.js';
import { capacityOf, permitsOf, timePart, type Capacity } from '../burst.js';
import type { FairShare } from '../fair-share-option.js';
import {
  capOf,
  fillTime,
  giveBack,
  join,
  partOf,
  read,
  refill,
  totalOf,
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

/** The most permits that are counted as taken: the state in Redis has them in a number with the weight. */
const MOST_TAKEN = 2 ** 42;

/** Number of tenants that take as much memory as a key. */
const TENANTS_PER_SIZE = 4;

/** Returns the state to store. */
function write(
  { at, pool, tenants }: Shares,
  { window, burst }: { window: number; burst: number },
): FairShareState {
  return { window, burst, at, pool, tenants };
}

/**
 * Fair shares of one limit: the limit applies to all tenants together, and each has the part of its weight of what is
 * added per microsecond. What a tenant does not use goes to those that do, by weight (max-min fairness).
 *
 * See docs/adr/0070-fair-shares.md.
 */
export const fairShare: Variant<FairShareOptions, FairShareState, FairShareParameter> = {
  name: 'gcra-fair-share',
  version: 2,
  parameters: ['limit', 'window', 'burst', 'tenant', 'weight', 'named'],
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
  // The shares are those of one burst: another one starts new counters.
  keyParts: (rule) => [permitsOf(rule.burst ?? rule.limit, rule), ...timePart(rule.burst, rule)],
  share: ({ limit, burst = limit }, processes) => ({ burst: capacityOf(burst, processes) }),
  compile: (rule) => {
    const { limit, window } = rule;
    return { limit, window, burst: permitsOf(rule.burst ?? limit, rule), tenant: 1, weight: 1, named: 0 };
  },
  isAhead: ({ at }, now) => setBack(at, now) > 0,
  bySubject({ share }) {
    const { weights = {}, weight: usual = 1 } = share ?? {};
    const known = new Map(Object.entries(weights));
    return (subject, number) => {
      const weight = known.get(subject);
      return { tenant: number, weight: weight ?? usual, named: weight === undefined ? 0 : 1 };
    };
  },

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, window, burst } = parameters;
    if (limit === 0) return NEVER;

    const shares = read(state, now, parameters);
    const me = join(shares, parameters);
    const ahead = shares.at - now;
    const need = cost * window;
    const total = totalOf(shares);
    const most = capOf(shares, parameters) * me.weight;
    const free = me.credit + shares.pool; // The pool is too little to be divided.
    const fits = (units: number) => free >= Math.min(units, most) && total >= units;
    const remaining = Math.max(fits(window) ? 1 : 0, Math.floor(Math.min(free, total) / window));

    if (cost > 0 && maxWait < Infinity && !fits(need)) {
      const resetAfter = ahead + Math.ceil((burst * window - total) / limit);
      const wait = Math.max(
        waitFor(shares, me, Math.min(need, most), parameters),
        Math.ceil((need - total) / limit),
      );
      const denied = deny(
        Math.max(0, remaining),
        cost > burst ? null : ahead + Math.max(1, wait),
        resetAfter,
      );
      const expiresAfter = Math.max(resetAfter, ahead + fillTime(parameters));
      const part = partOf(shares, me, parameters);
      return { ...denied, part, asked: { state: write(shares, parameters), expiresAfter } };
    }

    me.credit -= Math.min(need, LONGEST + total);
    me.taken = Math.min(MOST_TAKEN, me.taken + cost);
    const left = totalOf(shares);
    const resetAfter = Math.max(0, ahead + Math.ceil((burst * window - left) / limit));
    const expiresAfter = Math.max(resetAfter, ahead + fillTime(parameters));
    const allowed = allow(
      Math.max(0, remaining - cost),
      0,
      resetAfter,
      write(shares, parameters),
      expiresAfter,
    );
    return { ...allowed, part: partOf(shares, me, parameters) };
  },

  /** A charge expires gradually as units are added: at most what can be left of it is refunded. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, window, burst } = parameters;
    if (limit === 0) return undefined;
    const shares = read(state, now, parameters);
    const missing = burst * window - totalOf(shares);
    const endsAt = shares.at + Math.ceil(missing / limit);
    if (Number(receipt) <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

    giveBack(shares, Math.min(cost * window, (Number(receipt) - now) * limit, missing), cost, parameters);
    const resetAfter = shares.at - now + Math.ceil((burst * window - totalOf(shares)) / limit);
    const expiresAfter = Math.max(resetAfter, shares.at - now + fillTime(parameters));
    return { state: write(shares, parameters), expiresAfter };
  },

  clear(state, now, parameters) {
    const { limit, window, burst } = parameters;
    if (limit === 0) return undefined;
    const shares = read(state, now, parameters);
    if (!refill(shares, parameters)) return undefined;
    const resetAfter = shares.at - now + Math.ceil((burst * window - totalOf(shares)) / limit);
    const expiresAfter = Math.max(resetAfter, shares.at - now + fillTime(parameters));
    return { state: write(shares, parameters), expiresAfter };
  },

  sizeOf: ({ tenants }) => 1 + Math.floor(tenants.length / TENANTS_PER_SIZE),
};
