/** Permits held under one name. */
export interface Holder {
  readonly name: string;
  readonly permits: number;
  /** The instant at which the lease ends, in microseconds since the epoch. */
  readonly endsAt: number;
}

/**
 * The permits that are held under names, and the places of those that wait for permits. A change can be undone, until
 * the next one.
 */
export class PermitTable {
  /** Sorted by the end of the lease, earliest first. */
  readonly byEnd: Holder[] = [];
  /** The queue: the next that is served comes first. */
  readonly places: Holder[] = [];
  /** Total number of permits that are held. */
  permits = 0;
  version = 0;
  readonly byName = new Map<string, Holder>();
  readonly placeOf = new Map<string, Holder>();
  private inverses: (() => void)[] = [];

  /** Begins a change: earlier ones can no longer be undone. */
  begin(version: number): void {
    this.inverses = [];
    this.version = version;
  }

  undo(version: number): void {
    for (const inverse of this.inverses.reverse()) inverse();
    this.begin(version);
  }

  /** Sets or removes the holder of a name. */
  setHolder(name: string, holder: Holder | undefined): void {
    const before = this.byName.get(name);
    this.replaceHolder(before, holder);
    this.inverses.push(() => this.replaceHolder(holder, before));
  }

  /** Sets or removes a place; a new one is the last. */
  setPlace(name: string, place: Holder | undefined): void {
    const before = this.placeOf.get(name);
    if (!before && !place) return;
    const at = before ? this.places.indexOf(before) : this.places.length;
    this.replacePlace(at, before, place);
    this.inverses.push(() => this.replacePlace(at, place, before));
  }

  private replaceHolder(before: Holder | undefined, after: Holder | undefined): void {
    const { byEnd, byName } = this;
    this.permits += (after?.permits ?? 0) - (before?.permits ?? 0);
    if (before) {
      byName.delete(before.name);
      byEnd.splice(byEnd.indexOf(before, firstAfter(byEnd, before.endsAt - 1)), 1);
    }
    if (after) {
      byName.set(after.name, after);
      byEnd.splice(firstAfter(byEnd, after.endsAt), 0, after);
    }
  }

  private replacePlace(at: number, before: Holder | undefined, after: Holder | undefined): void {
    this.places.splice(at, before ? 1 : 0, ...(after ? [after] : []));
    if (before) this.placeOf.delete(before.name);
    if (after) this.placeOf.set(after.name, after);
  }
}

/** Returns the first index whose lease ends after an instant. */
export function firstAfter(byEnd: readonly Holder[], instant: number): number {
  let low = 0;
  let high = byEnd.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (byEnd[middle]!.endsAt <= instant) low = middle + 1;
    else high = middle;
  }
  return low;
}
