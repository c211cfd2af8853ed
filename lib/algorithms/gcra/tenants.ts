import { setBack } from '../../contracts/clock.js';
import type { Numbers } from '../definition.js';
import { LONGEST } from '../rate.js';

export type Parameters = Numbers<'limit' | 'window' | 'burst' | 'places' | 'tenant' | 'weight'>;

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

/** The shares that apply now, without tenants that have lost their places. */
export class Shares {
  readonly at: number;
  pool: number;
  tenants: Tenant[];
  /** What all tenants together miss, in units, and weigh. */
  total = 0;
  weights = 0;
  /**
   * How many units they may take beyond their balance: a permit for each place, without those that are left to the
   * tenants that have a place and miss less than a permit.
   */
  spare: number;
  /** The time in which a rule that was used up is full again, in microseconds. */
  readonly fillTime: number;
  /** How long a place is kept after its last request, in microseconds. */
  readonly keepTime: number;

  constructor(
    { at: since, pool, tenants }: FairShareState,
    now: number,
    readonly parameters: Parameters,
  ) {
    const { limit, window, burst, places } = parameters;
    this.fillTime = Math.ceil((burst * window) / limit);
    this.keepTime = Math.max(KEPT_WINDOWS * window, this.fillTime);
    this.spare = (burst + places) * window;
    const by = setBack(since, now);
    const from = since - by;
    this.at = Math.max(now, from);
    this.pool = pool + (this.at - from) * limit;
    this.tenants = tenants.map((tenant) => ({ ...tenant, due: tenant.due - by, seen: tenant.seen - by }));
    this.level();
    const idleSince = this.at - this.keepTime;
    this.tenants = this.tenants.filter(({ missing, seen }) => missing > 0 || seen > idleSince);
    for (const { weight, missing } of this.tenants) {
      this.weights += weight;
      this.spare -= Math.max(missing, window);
    }
  }

  /** Divides the pool by weight among the tenants that miss units (water-filling, which is max-min fair). */
  private level(): void {
    const { tenants } = this;
    this.total = -this.pool;
    for (const { missing } of tenants) this.total += missing;
    if (this.total <= 0) {
      for (const tenant of tenants) tenant.missing = 0;
      this.pool = this.total = 0;
    }
    for (;;) {
      let units = 0;
      for (const { weight, missing } of tenants) units += Math.min(weight, missing);
      if (this.pool < units || units === 0) return;
      const each = Math.floor(this.pool / units);
      for (const tenant of tenants) {
        const given = Math.min(each * tenant.weight, tenant.missing);
        tenant.missing -= given;
        this.pool -= given;
      }
    }
  }

  /** Returns the place of a tenant; -1 if it has none. */
  private placeOf(tenant: number): number {
    return this.tenants.findIndex(({ id }) => Math.abs(id) === Math.abs(tenant));
  }

  /** Returns a tenant, or the one of all others if it has no place; `undefined` if there is neither. */
  private find(tenant: number): Tenant | undefined {
    const own = this.tenants[this.placeOf(tenant)];
    return own ?? (tenant > 0 ? this.tenants[this.placeOf(OTHERS)] : undefined);
  }

  /**
   * Returns the tenant of a request, and notes that it sends one. A new tenant misses nothing, and has a place when its first
   * request is charged.
   */
  join(): Tenant {
    const { tenants, at } = this;
    const { tenant, weight, window } = this.parameters;
    let id = tenant;
    let place = this.placeOf(id);
    if (place < 0 && id > 0 && tenants.filter((each) => each.id > 0).length >= MOST_TENANTS) {
      id = OTHERS;
      place = this.placeOf(id);
    }
    const { missing, due, seen, taken } = tenants[place] ?? { missing: 0, due: at, seen: at, taken: 0 };
    const takenNow = seen < at - (at % window) ? 0 : taken;
    const me: Tenant = { id, weight, missing, due, seen: at, taken: takenNow };
    this.weights += weight - (tenants[place]?.weight ?? 0);
    if (place >= 0) tenants[place] = me;
    return me;
  }

  /**
   * Returns how many units a tenant can miss some time from now, and until when: its part of the burst among those that
   * have then sent requests lately, at least a permit.
   */
  holdOf(me: Tenant, after = 0): Hold {
    const { window, burst } = this.parameters;
    const since = this.at + after - this.fillTime;
    let weights = me.weight;
    let until = Infinity;
    for (const tenant of this.tenants) {
      if (tenant === me || tenant.seen <= since) continue;
      weights += tenant.weight;
      until = Math.min(until, after + tenant.seen - since);
    }
    return { most: Math.max(window, Math.floor((burst * window) / weights) * me.weight), until };
  }

  /** Returns the time in which the guaranteed part of a tenant adds some units, in microseconds. */
  timeOf(units: number, { weight }: Tenant): number {
    return Math.min(LONGEST, Math.ceil((units * this.weights) / (this.parameters.limit * weight)));
  }

  /** Charges a tenant. Permits that it borrows do not make its guaranteed part later than if that were used up. */
  charge(me: Tenant, cost: number): void {
    const { window, burst } = this.parameters;
    const units = Math.min(cost * window, LONGEST + burst * window - this.total);
    const owed = Math.max(0, me.due - this.at);
    const more = this.timeOf(units, me);
    me.due = this.at + Math.min(owed + more, Math.max(owed, more, this.fillTime));
    if (this.tenants.includes(me)) this.spare += Math.max(me.missing, window);
    else this.tenants.push(me);
    this.spare -= Math.max(me.missing + units, window);
    me.missing += units;
    this.total += units;
    me.taken = Math.min(MOST_TAKEN, me.taken + cost);
  }

  /** Refunds units of a charge to the tenant; what it has been given since goes to the others. */
  refund(units: number, cost: number): void {
    const me = this.find(this.parameters.tenant);
    this.pool += units;
    if (me) {
      const given = Math.min(units, me.missing);
      me.missing -= given;
      this.pool -= given;
      me.due -= this.timeOf(units, me);
      me.taken = Math.max(0, me.taken - cost);
    }
    this.level();
  }

  /** Refills the tenant, as if it had taken nothing. Returns whether it has a place. The others keep what they have. */
  refill(): boolean {
    const me = this.find(this.parameters.tenant);
    if (!me) return false;
    Object.assign(me, { missing: 0, due: this.at, taken: 0 });
    this.level();
    return true;
  }
}
