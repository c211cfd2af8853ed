import type { SharePart } from '../../contracts/algorithm.js';
import { setBack } from '../../contracts/set-back.js';
import type { Numbers } from '../definition.js';

export type FairShareParameter = 'limit' | 'window' | 'burst' | 'tenant' | 'weight' | 'named';

type Parameters = Numbers<FairShareParameter>;

/** A tenant that has sent requests lately. */
export interface Tenant {
  /** A number from 1; 0 for the tenants that share one place. */
  readonly id: number;
  readonly weight: number;
  /** What it may take at once, in units of 1/window permit: negative if it owes. */
  credit: number;
  /** When its last request arrived, in microseconds since the epoch. */
  readonly seen: number;
  /** Permits that it has taken in the window of `seen`. Windows start at multiples of their length since the epoch. */
  taken: number;
}

/** What all tenants of a rule may take. One microsecond adds `limit` units, so that no unit is ever rounded. */
export interface FairShareState {
  /** The window and the burst that the units were counted with. */
  readonly window: number;
  readonly burst: number;
  /** Up to when units were added, in microseconds since the epoch. */
  readonly at: number;
  /** Units that no tenant has: what was too little to be divided, or more than the tenants can hold. */
  readonly pool: number;
  readonly tenants: readonly Tenant[];
}

/** The state at the current time. */
export interface Shares {
  at: number;
  pool: number;
  tenants: Tenant[];
}

/** Maximum number of tenants with a share of their own, besides those with a weight of their own. */
const MOST_TENANTS = 100;

/** The tenant of all others. */
const OTHERS = 0;

/** Returns the time in which a rule that was used up is full again, in microseconds. */
export function fillTime({ limit, window, burst }: Parameters): number {
  return Math.ceil((burst * window) / limit);
}

/** Returns the units of all tenants together. */
export function totalOf({ pool, tenants }: Shares): number {
  let total = pool;
  for (const { credit } of tenants) total += credit;
  return total;
}

/** Returns how many units are the share of a tenant in the burst, for each unit of weight. */
export function capOf({ tenants }: Shares, { window, burst }: Parameters): number {
  let weights = 0;
  for (const { weight } of tenants) weights += weight;
  return Math.floor((burst * window) / weights);
}

/** Returns the function that returns how many units a tenant holds at most: its share in the burst, at least a permit. */
function holding(shares: Shares, parameters: Parameters): (tenant: Pick<Tenant, 'weight'>) => number {
  const cap = capOf(shares, parameters);
  return ({ weight }) => Math.max(cap * weight, parameters.window);
}

/**
 * Divides the pool among the tenants by weight, until they hold what they can: what one cannot hold goes to the others
 * (water-filling, which is max-min fair).
 */
function level(shares: Shares, parameters: Parameters): void {
  const { tenants } = shares;
  if (tenants.length === 0) return;
  const most = holding(shares, parameters);
  for (const tenant of tenants) {
    const over = tenant.credit - most(tenant);
    if (over <= 0) continue;
    tenant.credit -= over;
    shares.pool += over;
  }
  for (;;) {
    let weights = 0;
    for (const tenant of tenants) if (tenant.credit < most(tenant)) weights += tenant.weight;
    if (weights === 0 || shares.pool < weights) return;
    const each = Math.floor(shares.pool / weights);
    for (const tenant of tenants) {
      const given = Math.min(each * tenant.weight, most(tenant) - tenant.credit);
      tenant.credit += given;
      shares.pool -= given;
    }
  }
}

/** Converts a state of another window or burst: consumed permits stay consumed, and the rest is divided anew. */
function convert(state: FairShareState, { window, burst }: Parameters): Shares {
  const { at, pool, tenants } = state;
  const missing = state.burst * state.window - totalOf({ at, pool, tenants: [...tenants] });
  const owing = tenants.map((tenant) => ({
    ...tenant,
    credit: Math.min(0, -Math.ceil((-tenant.credit / state.window) * window)),
  }));
  const rest = burst * window - Math.ceil((missing / state.window) * window);
  return { at, pool: rest - totalOf({ at, pool: 0, tenants: owing }), tenants: owing };
}

/** Moves the shares to an earlier time: the clock was set back. */
function move(shares: Shares, by: number): void {
  if (by === 0) return;
  shares.at -= by;
  shares.tenants = shares.tenants.map((tenant) => ({ ...tenant, seen: tenant.seen - by }));
}

/** Adds the units of the time that has passed. */
function advance(shares: Shares, now: number, parameters: Parameters): void {
  const { limit, window, burst } = parameters;
  const missing = burst * window - totalOf(shares);
  const elapsed = Math.max(0, now - shares.at);
  shares.pool += elapsed >= Math.ceil(missing / limit) ? missing : elapsed * limit;
  shares.at = Math.max(now, shares.at);
  level(shares, parameters);
}

/** Returns the shares that apply now, without tenants that have been idle for as long as the rule takes to be full. */
export function read(state: FairShareState | undefined, now: number, parameters: Parameters): Shares {
  const { window, burst } = parameters;
  if (!state) return { at: now, pool: burst * window, tenants: [] };
  const isOwn = state.window === window && state.burst === burst;
  const shares: Shares = isOwn
    ? { at: state.at, pool: state.pool, tenants: state.tenants.map((tenant) => ({ ...tenant })) }
    : convert(state, parameters);
  move(shares, setBack(state.at, now));
  advance(shares, now, parameters);
  const idleSince = shares.at - fillTime(parameters);
  shares.tenants = shares.tenants.filter(({ credit, seen }) => {
    const isIdle = seen <= idleSince && credit >= 0;
    if (isIdle) shares.pool += credit;
    return !isIdle;
  });
  return shares;
}

/** Adds the tenant of a request, or updates it. Returns it. */
export function join(shares: Shares, parameters: Parameters): Tenant {
  const { tenants, at } = shares;
  const { tenant, weight, named } = parameters;
  let index = tenants.findIndex(({ id }) => id === tenant);
  let id = tenant;
  if (index < 0 && named === 0 && tenants.length >= MOST_TENANTS) {
    id = OTHERS;
    index = tenants.findIndex((each) => each.id === OTHERS);
  }
  const { credit, seen, taken } = tenants[index] ?? { credit: 0, seen: at, taken: 0 };
  const me: Tenant = {
    id,
    weight,
    credit,
    seen: at,
    taken: seen < at - (at % parameters.window) ? 0 : taken,
  };
  if (index < 0) tenants.push(me);
  else tenants[index] = me;
  level(shares, parameters);
  if (index < 0) welcome(shares, me, parameters);
  return me;
}

/**
 * Gives a new tenant a permit from tenants that hold more than their part of what is left, so that it is not denied while
 * most of the limit is unused. Each keeps a permit, too.
 */
function welcome(shares: Shares, me: Tenant, parameters: Parameters): void {
  const { tenants } = shares;
  let weights = 0;
  for (const { weight } of tenants) weights += weight;
  const each = Math.floor(totalOf(shares) / weights);
  const spare = (tenant: Tenant): number => {
    if (tenant === me) return 0;
    return Math.max(0, tenant.credit - Math.max(each * tenant.weight, parameters.window));
  };
  let spares = 0;
  for (const tenant of tenants) spares += spare(tenant);
  let missing = Math.min(parameters.window - me.credit, spares);
  if (missing <= 0) return;
  const ratio = missing / spares;
  for (const tenant of tenants) {
    const given = Math.min(Math.ceil(spare(tenant) * ratio), missing);
    tenant.credit -= given;
    me.credit += given;
    missing -= given;
  }
}

/**
 * Returns the time after which a tenant holds at least `target` units if no request arrives, in microseconds. If the rule
 * is full before, that is when the other tenants are forgotten.
 */
export function waitFor(shares: Shares, me: Tenant, target: number, parameters: Parameters): number {
  const most = holding(shares, parameters);
  const reached = Math.ceil((target - me.credit) / me.weight);
  let needed = -shares.pool;
  for (const tenant of shares.tenants) {
    needed += Math.min(reached * tenant.weight, most(tenant) - tenant.credit);
  }
  const { limit, window, burst } = parameters;
  const missing = burst * window - totalOf(shares);
  if (needed <= missing) return Math.ceil(needed / limit);
  const forgotten = shares.tenants.map((tenant) =>
    tenant === me ? 0 : tenant.seen + fillTime(parameters) - shares.at,
  );
  return Math.max(Math.ceil(missing / limit), ...forgotten);
}

/** Returns the permits per window that a tenant gets whatever the others take, and those that it has taken beyond. */
export function partOf({ tenants }: Shares, { weight, taken }: Tenant, { limit }: Parameters): SharePart {
  let weights = 0;
  for (const tenant of tenants) weights += tenant.weight;
  const guaranteed = Math.floor((limit * weight) / weights);
  return { guaranteed, borrowed: Math.max(0, taken - guaranteed) };
}

/**
 * Refills the part of a tenant, as if it had taken nothing. The others keep what they have.
 *
 * @returns whether the tenant is known
 */
export function refill(shares: Shares, parameters: Parameters): boolean {
  level(shares, parameters);
  const { tenants } = shares;
  const { tenant, named, window, burst } = parameters;
  const others = named === 0 ? tenants.find(({ id }) => id === OTHERS) : undefined;
  const me = tenants.find(({ id }) => id === tenant) ?? others;
  if (!me) return false;
  const missing = holding(shares, parameters)(me) - me.credit;
  me.credit += Math.max(0, Math.min(missing, burst * window - totalOf(shares)));
  me.taken = 0;
  return true;
}

/** Refunds units of a charge to its tenant; to all if it has been forgotten. */
export function giveBack(shares: Shares, units: number, permits: number, parameters: Parameters): void {
  const { tenants } = shares;
  const me = tenants.find(({ id }) => id === parameters.tenant) ?? tenants.find(({ id }) => id === OTHERS);
  if (me) {
    me.credit += units;
    me.taken = Math.max(0, me.taken - permits);
  } else shares.pool += units;
  level(shares, parameters);
}
