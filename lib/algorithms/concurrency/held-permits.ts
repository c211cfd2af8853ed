import { setBack } from '../../contracts/clock.js';
import type { Numbers } from '../definition.js';
import { firstAfter, PermitTable, type Holder } from './permit-table.js';

/** The parameters of the rule: how many permits can be held, and for how long. */
type Supply = Numbers<'limit' | 'lease'>;

/**
 * The holders of permits, and the requests that wait for permits. A change returns a new view of one shared table, so
 * that nothing is copied. If the view before it is used again, the change is undone. Older views cannot be used.
 *
 * All instants are in a time of its own, which continues when the clock is set back: `now` is what `timeOf` returns.
 */
export class HeldPermits {
  private constructor(
    private readonly table: PermitTable,
    private readonly version: number,
    /** Leases that had ended by this instant are removed permanently. */
    private readonly purgedAt: number,
    /** How far the own time is ahead of the clock, in microseconds. */
    private readonly offset: number,
    /** The instant of the last change. */
    private readonly written: number,
    /** The names that the last change handed permits to. */
    readonly granted: readonly string[] = [],
  ) {}

  static none(): HeldPermits {
    return new HeldPermits(new PermitTable(), 0, 0, 0, 0);
  }

  /** Returns these permits as of an instant of the clock, with a time that continues if the clock was set back. */
  at(instant: number): HeldPermits {
    const by = this.setBackBy(instant);
    const { table, version, purgedAt, offset, written } = this;
    const view = by === 0 ? this : new HeldPermits(table, version, purgedAt, offset + by, written);
    return view.isOver(view.timeOf(instant)) ? HeldPermits.none() : view;
  }

  /** Returns the own time at an instant of the clock. */
  timeOf(instant: number): number {
    return instant + this.offset;
  }

  /** Whether the clock was set back since the last change, while permits were held or requests waited. */
  isAhead(instant: number): boolean {
    return this.setBackBy(instant) > 0 && !this.isOver(this.written);
  }

  /** Returns how many permits are held by leases that have not ended. */
  count(now: number): number {
    const { byEnd, permits } = this.current();
    let count = permits;
    for (let at = 0; at < byEnd.length && byEnd[at]!.endsAt <= now; at++) count -= byEnd[at]!.permits;
    return count;
  }

  /** Number of holders and waiting requests in memory, including those whose lease has ended. */
  get size(): number {
    return this.table.byEnd.length + this.table.places.length;
  }

  /** Returns the number of waiting requests whose lease has not ended. */
  countWaiting(now: number): number {
    const { places } = this.current();
    let count = 0;
    for (const { endsAt } of places) if (endsAt > now) count += 1;
    return count;
  }

  /** Returns the instant at which the last lease of permits ends; `now` if none is held. */
  lastEnd(now: number): number {
    return Math.max(now, this.current().byEnd.at(-1)?.endsAt ?? 0);
  }

  /** Returns the instant at which the last lease ends, including those of waiting requests. */
  lastEndOfAll(now: number): number {
    return this.current().places.reduce((last, { endsAt }) => Math.max(last, endsAt), this.lastEnd(now));
  }

  /** Returns the instant at which enough leases have ended to free some permits; at most those that are held. */
  freeingEnd(now: number, needed: number): number {
    const { byEnd } = this.current();
    let missing = Math.max(1, needed);
    for (let at = firstAfter(byEnd, now); at < byEnd.length; at++) {
      missing -= byEnd[at]!.permits;
      if (missing <= 0) return byEnd[at]!.endsAt;
    }
    return Infinity;
  }

  get(name: string, now: number): Holder | undefined {
    const holder = this.current().byName.get(name);
    return holder && holder.endsAt > now ? holder : undefined;
  }

  /** Returns the waiting request with a name, even if its lease has ended. */
  place(name: string): Holder | undefined {
    return this.current().placeOf.get(name);
  }

  /** Returns the number of requests ahead of a name in the queue; all of them if it is not in the queue. */
  ahead(name: string): number {
    const table = this.current();
    const place = table.placeOf.get(name);
    return place ? table.places.indexOf(place) : table.places.length;
  }

  /** Counts the requests from the head of the queue that can get free permits, up to the request with a name. */
  reach(now: number, free: number, name: string) {
    let [left, reached] = [free, 0];
    for (const { name: each, permits, endsAt } of this.current().places) {
      if (each === name) break;
      if (endsAt <= now) continue;
      if (permits > left) return { isReached: false, left, reached, blockedUntil: endsAt };
      left -= permits;
      reached += 1;
    }
    return { isReached: true, left, reached, blockedUntil: Infinity };
  }

  /** Returns a view with a holder added or replaced, and without the leases that have ended. */
  put(holder: Holder, now: number): HeldPermits {
    return this.change(now, (table) => table.setHolder(holder.name, holder));
  }

  /**
   * Returns a view without a holder or a waiting request, unless its lease has ended. Free permits then go to waiting requests.
   */
  remove(name: string, now: number, supply: Supply): HeldPermits | undefined {
    if (!this.get(name, now) && !isWaiting(this.place(name), now)) return undefined;
    return this.change(now, (table) => {
      table.setHolder(name, undefined);
      table.setPlace(name, undefined);
      return advance(table, now, supply, name);
    });
  }

  /** Returns a view in which free permits went to waiting requests, and then the holder got its permits, or joined the queue. */
  enter(holder: Holder, now: number, supply: Supply, isServed: boolean): HeldPermits {
    return this.change(now, (table) => {
      if (table.placeOf.has(holder.name)) table.setPlace(holder.name, holder);
      const granted = advance(table, now, supply, holder.name);
      table.setPlace(holder.name, isServed ? undefined : holder);
      if (isServed) table.setHolder(holder.name, holder);
      return granted;
    });
  }

  /** Returns a view in which the lease of a holder or a waiting request ends at another instant; `undefined` if it has ended. */
  renew(name: string, now: number, endsAt: number): HeldPermits | undefined {
    const holder = this.get(name, now);
    if (holder) return this.put({ ...holder, endsAt }, now);
    const place = this.place(name);
    if (!isWaiting(place, now)) return undefined;
    return this.change(now, (table) => table.setPlace(name, { ...place, endsAt }));
  }

  /** Returns by how much the clock was set back since the last change; 0 for a step of at most a second. */
  private setBackBy(instant: number): number {
    return setBack(this.written - this.offset, instant);
  }

  /** Whether nothing is held and no request waits. */
  private isOver(now: number): boolean {
    const { byEnd, places } = this.current();
    return (byEnd.at(-1)?.endsAt ?? 0) <= now && places.every(({ endsAt }) => endsAt <= now);
  }

  private change(now: number, edit: (table: PermitTable) => readonly string[] | void): HeldPermits {
    const table = this.current();
    table.begin(this.version + 1);
    const granted = edit(table) ?? [];
    return new HeldPermits(table, table.version, now, this.offset, Math.max(now, this.written), granted);
  }

  /** Returns the table in the state of this view. */
  private current(): PermitTable {
    const { table } = this;
    if (table.version > this.version) table.undo(this.version);
    const ended = firstAfter(table.byEnd, this.purgedAt);
    if (ended > 0) {
      for (const { name } of table.byEnd.slice(0, ended)) table.setHolder(name, undefined);
      table.begin(this.version);
    }
    return table;
  }
}

/**
 * Gives free permits to the requests at the head of the queue, and removes those whose lease has ended.
 *
 * @param own the name that needs no report
 * @returns the names that got permits
 */
function advance(table: PermitTable, now: number, { limit, lease }: Supply, own: string): readonly string[] {
  const granted: string[] = [];
  for (const { name } of table.places.filter(({ endsAt }) => endsAt <= now)) table.setPlace(name, undefined);
  let free = limit - table.permits + endedPermits(table, now);
  for (let [head] = table.places; head && head.permits <= free; [head] = table.places) {
    table.setPlace(head.name, undefined);
    table.setHolder(head.name, { ...head, endsAt: now + lease });
    free -= head.permits;
    if (head.name !== own) granted.push(head.name);
  }
  return granted;
}

/** Whether a request waits: its lease has not ended. */
export function isWaiting(place: Holder | undefined, now: number): place is Holder {
  return place !== undefined && place.endsAt > now;
}

function endedPermits({ byEnd }: PermitTable, now: number): number {
  return byEnd.slice(0, firstAfter(byEnd, now)).reduce((sum, { permits }) => sum + permits, 0);
}
