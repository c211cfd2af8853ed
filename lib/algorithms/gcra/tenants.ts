import { setBack } from '../../contracts/clock.js';
import type { Numbers } from '../definition.js';
import { LONGEST } from '../rate.js';

export type FairShareParameter = 'limit' | 'window' | 'burst' | 'places' | 'tenant' | 'weight';

export type Parameters = Numbers<FairShareParameter>;

/** A tenant that has a place. */
export interface Tenant {
  /** Its number: negative if its weight is its own; 0 for the tenants that share one place. */
  readonly id: number;
  readonly weight: number;
  /** Units of 1/window permit that it has taken and that have not been added again. */
  missing: number;
  /** When its guaranteed part is whole again, in microseconds since the epoch. */
  due: number;
  /** When its last request arrived, in microseconds since the epoch. */
  readonly seen: number;
  /** Permits that it has taken in the window of `seen`. Windows start at multiples of their length since the epoch. */
  taken: number;
}

/** What the tenants of a rule have taken. One microsecond adds `limit` units, so that no unit is ever rounded. */
export interface FairShareState {
  /** Up to when units were added, in microseconds since the epoch. */
  readonly at: number;
  /** Units that were added, but are too few to be divided. */
  readonly pool: number;
  readonly tenants: readonly Tenant[];
}

/** The state at the current time. */
export interface Shares {
  readonly at: number;
  pool: number;
  tenants: Tenant[];
  /** What all tenants together miss, in units, and weigh. */
  total: number;
  weights: number;
  /**
   * How many units they may take beyond their balance: a permit for each place, without those that are left to the
   * tenants that have a place and miss less than a permit.
   */
  spare: number;
}

/** How many units a tenant can miss, and until when, in microseconds from now. */
export interface Hold {
  readonly most: number;
  readonly until: number;
}

/** Maximum number of tenants with a place of their own, besides those with a weight of their own. */
export const MOST_TENANTS = 100;

/** The tenant of all others. */
const OTHERS = 0;

/** Windows without a request after which a tenant loses its place. */
const KEPT_WINDOWS = 10;

/** The most permits that are counted as taken: the state in Redis has them in a number with the weight. */
const MOST_TAKEN = 2 ** 42;

/** Returns the time in which a rule that was used up is full again, in microseconds. */
export function fillTime({ limit, window, burst }: Parameters): number {
  return Math.ceil((burst * window) / limit);
}

/** Returns how long a place is kept after its last request, in microseconds. */
export function keepTime(parameters: Parameters): number {
  return Math.max(KEPT_WINDOWS * parameters.window, fillTime(parameters));
}

/** Divides the pool by weight among the tenants that miss units (water-filling, which is max-min fair). */
function level(shares: Shares): void {
  const { tenants } = shares;
  shares.total = -shares.pool;
  for (const { missing } of tenants) shares.total += missing;
  if (shares.total <= 0) {
    for (const tenant of tenants) tenant.missing = 0;
    shares.pool = shares.total = 0;
  }
  for (;;) {
    let units = 0;
    for (const { weight, missing } of tenants) units += Math.min(weight, missing);
    if (shares.pool < units || units === 0) return;
    const each = Math.floor(shares.pool / units);
    for (const tenant of tenants) {
      const given = Math.min(each * tenant.weight, tenant.missing);
      tenant.missing -= given;
      shares.pool -= given;
    }
  }
}

/** Returns the shares that apply now, without tenants that have lost their places. */
export function read(state: FairShareState | undefined, now: number, parameters: Parameters): Shares {
  const { window, burst, places } = parameters;
  const spare = (burst + places) * window;
  if (!state) return { at: now, pool: 0, tenants: [], total: 0, weights: 0, spare };
  const by = setBack(state.at, now);
  const from = state.at - by;
  const at = Math.max(now, from);
  const pool = state.pool + (at - from) * parameters.limit;
  const tenants = state.tenants.map((tenant) => ({
    ...tenant,
    due: tenant.due - by,
    seen: tenant.seen - by,
  }));
  const shares: Shares = { at, pool, tenants, total: 0, weights: 0, spare };
  level(shares);
  const idleSince = at - keepTime(parameters);
  shares.tenants = tenants.filter(({ missing, seen }) => missing > 0 || seen > idleSince);
  for (const { weight, missing } of shares.tenants) {
    shares.weights += weight;
    shares.spare -= Math.max(missing, window);
  }
  return shares;
}

/** Returns the place of a tenant; -1 if it has none. */
function placeOf({ tenants }: Shares, tenant: number): number {
  return tenants.findIndex(({ id }) => Math.abs(id) === Math.abs(tenant));
}

/** Returns a tenant, or the one of all others if it has no place; `undefined` if there is neither. */
export function find(shares: Shares, tenant: number): Tenant | undefined {
  const own = shares.tenants[placeOf(shares, tenant)];
  return own ?? (tenant > 0 ? shares.tenants[placeOf(shares, OTHERS)] : undefined);
}

/**
 * Returns the tenant of a request, and notes that it sends one. A new tenant misses nothing, and has a place when its first
 * request is charged.
 */
export function join(shares: Shares, { tenant, weight, window }: Parameters): Tenant {
  const { tenants, at } = shares;
  let id = tenant;
  let place = placeOf(shares, id);
  if (place < 0 && id > 0 && tenants.filter((each) => each.id > 0).length >= MOST_TENANTS) {
    id = OTHERS;
    place = placeOf(shares, id);
  }
  const { missing, due, seen, taken } = tenants[place] ?? { missing: 0, due: at, seen: at, taken: 0 };
  const takenNow = seen < at - (at % window) ? 0 : taken;
  const me: Tenant = { id, weight, missing, due, seen: at, taken: takenNow };
  shares.weights += weight - (tenants[place]?.weight ?? 0);
  if (place >= 0) tenants[place] = me;
  return me;
}

/**
 * Returns how many units a tenant can miss some time from now, and until when: its part of the burst among those that
 * have then sent requests lately, at least a permit.
 */
export function holdOf({ at, tenants }: Shares, me: Tenant, parameters: Parameters, after = 0): Hold {
  const { window, burst } = parameters;
  const since = at + after - fillTime(parameters);
  let weights = me.weight;
  let until = Infinity;
  for (const tenant of tenants) {
    if (tenant === me || tenant.seen <= since) continue;
    weights += tenant.weight;
    until = Math.min(until, after + tenant.seen - since);
  }
  return { most: Math.max(window, Math.floor((burst * window) / weights) * me.weight), until };
}

/** Returns the time in which the guaranteed part of a tenant adds some units, in microseconds. */
export function timeOf(
  units: number,
  { weights }: Shares,
  { weight }: Tenant,
  { limit }: Parameters,
): number {
  return Math.min(LONGEST, Math.ceil((units * weights) / (limit * weight)));
}

/** Charges a tenant. Permits that it borrows do not make its guaranteed part later than if that were used up. */
export function charge(shares: Shares, me: Tenant, cost: number, parameters: Parameters): void {
  const { window, burst } = parameters;
  const units = Math.min(cost * window, LONGEST + burst * window - shares.total);
  const owed = Math.max(0, me.due - shares.at);
  const more = timeOf(units, shares, me, parameters);
  me.due = shares.at + Math.min(owed + more, Math.max(owed, more, fillTime(parameters)));
  if (shares.tenants.includes(me)) shares.spare += Math.max(me.missing, window);
  else shares.tenants.push(me);
  shares.spare -= Math.max(me.missing + units, window);
  me.missing += units;
  shares.total += units;
  me.taken = Math.min(MOST_TAKEN, me.taken + cost);
}

/** Refunds units of a charge to a tenant; what it has been given since goes to the others. */
export function refundShare(shares: Shares, units: number, cost: number, parameters: Parameters): void {
  const me = find(shares, parameters.tenant);
  shares.pool += units;
  if (me) {
    const given = Math.min(units, me.missing);
    me.missing -= given;
    shares.pool -= given;
    me.due -= timeOf(units, shares, me, parameters);
    me.taken = Math.max(0, me.taken - cost);
  }
  level(shares);
}

/** Refills a tenant, as if it had taken nothing. Returns whether it has a place. The others keep what they have. */
export function refill(shares: Shares, { tenant }: Parameters): boolean {
  const me = find(shares, tenant);
  if (!me) return false;
  Object.assign(me, { missing: 0, due: shares.at, taken: 0 });
  level(shares);
  return true;
}
