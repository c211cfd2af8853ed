/** Permits held under one name. */
export interface Holder {
  readonly name: string;
  readonly permits: number;
  /** The instant at which the lease ends, in microseconds since the epoch. */
  readonly endsAt: number;
}

interface Table {
  /** Sorted by the end of the lease, earliest first. */
  readonly byEnd: Holder[];
  readonly byName: Map<string, Holder>;
  /** Total number of permits in the table. */
  permits: number;
  version: number;
  undo: () => void;
}

/**
 * The holders of permits. Immutable for its user: a change returns a new view of one shared table, and is undone if an
 * older view is used, so that a change copies nothing. Only the newest view or the one before it can be used.
 */
export class HeldPermits {
  private constructor(
    private readonly table: Table,
    private readonly version: number,
    /** Leases that had ended by this instant are removed for good. */
    private readonly purgedAt: number,
  ) {}

  static none(): HeldPermits {
    return new HeldPermits(
      { byEnd: [], byName: new Map(), permits: 0, version: 0, undo: () => undefined },
      0,
      0,
    );
  }

  /** Iterates over the leases that have not ended, the earliest to end first. */
  *live(now: number): Iterable<Holder> {
    const { byEnd } = this.current();
    for (let at = firstAfter(byEnd, now); at < byEnd.length; at++) yield byEnd[at]!;
  }

  /** Returns how many permits are held by leases that have not ended. */
  count(now: number): number {
    const { byEnd, permits } = this.current();
    let count = permits;
    for (let at = 0; at < byEnd.length && byEnd[at]!.endsAt <= now; at++) count -= byEnd[at]!.permits;
    return count;
  }

  /** Number of holders in memory, including those whose lease has ended. */
  get heldCount(): number {
    return this.table.byEnd.length;
  }

  /** Returns the instant at which the last lease ends; `now` if there is none. */
  lastEnd(now: number): number {
    return Math.max(now, this.current().byEnd.at(-1)?.endsAt ?? 0);
  }

  get(name: string, now: number): Holder | undefined {
    const holder = this.current().byName.get(name);
    return holder && holder.endsAt > now ? holder : undefined;
  }

  /** Returns a view with a holder added or replaced, and without the leases that have ended. */
  put(holder: Holder, now: number): HeldPermits {
    return this.change(holder.name, holder, now);
  }

  /** Returns a view without a holder, and without the leases that have ended. */
  remove(name: string, now: number): HeldPermits {
    return this.change(name, undefined, now);
  }

  private change(name: string, holder: Holder | undefined, now: number): HeldPermits {
    const table = this.current();
    const before = table.byName.get(name);
    replace(table, before, holder);
    table.undo = () => replace(table, holder, before);
    table.version = this.version + 1;
    return new HeldPermits(table, table.version, now);
  }

  /** Returns the table in the state of this view. */
  private current(): Table {
    const { table } = this;
    if (table.version > this.version) table.undo();
    table.version = this.version;
    const ended = firstAfter(table.byEnd, this.purgedAt);
    for (const holder of ended > 0 ? table.byEnd.slice(0, ended) : []) replace(table, holder, undefined);
    return table;
  }
}

function replace(table: Table, before: Holder | undefined, after: Holder | undefined): void {
  const { byEnd, byName } = table;
  table.permits += (after?.permits ?? 0) - (before?.permits ?? 0);
  if (before) {
    byName.delete(before.name);
    byEnd.splice(byEnd.indexOf(before, firstAfter(byEnd, before.endsAt - 1)), 1);
  }
  if (after) {
    byName.set(after.name, after);
    byEnd.splice(firstAfter(byEnd, after.endsAt), 0, after);
  }
}

/** Returns the first index whose lease ends after an instant. */
function firstAfter(byEnd: readonly Holder[], instant: number): number {
  let low = 0;
  let high = byEnd.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byEnd[middle]!.endsAt <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
