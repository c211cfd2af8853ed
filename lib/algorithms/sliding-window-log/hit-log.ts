/**
 * A log of allowed requests, oldest first: the instant of each, and the running total of permits including it. The
 * first entry is not a request, but the base of the running total. The last request holds permits: requests after it
 * that were refunded in full are not in the log.
 *
 * Immutable for its user: `push` returns a new log that shares the entries, as a slice does, so that no request copies
 * them. Use only the newest log: a `push` to an older one overwrites entries of the newer ones.
 */
export class HitLog {
  private constructor(
    private readonly instants: number[],
    private readonly totals: number[],
    private readonly first: number,
    private readonly end: number,
  ) {}

  static empty(): HitLog {
    return new HitLog([0], [0], 0, 1);
  }

  get lastInstant(): number {
    return this.instants[this.end - 1]!;
  }

  get lastTotal(): number {
    return this.totals[this.end - 1]!;
  }

  /** Number of entries, including the base. */
  get length(): number {
    return this.end - this.first;
  }

  /** Number of entries in memory, including expired ones. */
  get heldLength(): number {
    return this.instants.length;
  }

  /** Returns the instant of an entry; `Infinity` past the end. */
  instant(index: number): number {
    return this.first + index < this.end ? this.instants[this.first + index]! : Infinity;
  }

  total(index: number): number {
    return this.totals[this.first + index]!;
  }

  /** Returns the first index above 0 whose instant is at least `bound`; `length` if there is none. */
  firstInstantReaching(bound: number): number {
    return this.firstReaching(this.instants, 0, bound);
  }

  /** Returns the first index above `low` whose total is at least `bound`; `length` if there is none. */
  firstTotalReaching(bound: number, low: number): number {
    return this.firstReaching(this.totals, low, bound);
  }

  /** Returns the log with one more request, and with the entry at index `base` as its base. */
  push(instant: number, total: number, base: number): HitLog {
    const first = this.first + base;
    if (this === EMPTY_LOG) return new HitLog([0, instant], [0, total], 0, 2);
    if (first > 32 && first * 2 > this.end) {
      const instants = this.instants.slice(first, this.end);
      const totals = this.totals.slice(first, this.end);
      return new HitLog(instants, totals, 0, instants.length).push(instant, total, 0);
    }
    this.instants[this.end] = instant;
    this.totals[this.end] = total;
    return new HitLog(this.instants, this.totals, first, this.end + 1);
  }

  /** Returns the log with `cost` subtracted from the request at `index` and from all later totals. */
  reduce(index: number, cost: number): HitLog {
    const before = this.total(index - 1);
    if (this.lastTotal - cost <= before) return this.until(before);
    const instants = this.instants.slice(this.first, this.end);
    const totals = this.totals.slice(this.first, this.end);
    for (let at = index; at < totals.length; at++) totals[at] = Math.max(before, totals[at]! - cost);
    return new HitLog(instants, totals, 0, totals.length);
  }

  /** Returns the log as data, for the playground of the documentation. */
  toJSON() {
    const { first, end } = this;
    return { instants: this.instants.slice(first + 1, end), permits: this.lastTotal - this.total(0) };
  }

  /** Returns the log up to the first request whose total is at least `total`. */
  private until(total: number): HitLog {
    if (total === this.total(0)) return EMPTY_LOG;
    const end = this.first + this.firstTotalReaching(total, 0) + 1;
    return new HitLog(this.instants, this.totals, this.first, end);
  }

  /** Searches with doubling steps from `low`: requests mostly expire one by one, so the result is usually close. */
  private firstReaching(values: number[], low: number, bound: number): number {
    const { length } = this;
    let stride = 1;
    let probe = low + 1;
    while (probe < length && values[this.first + probe]! < bound) {
      low = probe;
      stride *= 2;
      probe = low + stride;
    }
    probe = Math.min(probe, length);
    while (probe - low > 1) {
      const middle = (low + probe) >> 1;
      if (values[this.first + middle]! < bound) low = middle;
      else probe = middle;
    }
    return probe;
  }
}

/** The log of a fresh key. */
export const EMPTY_LOG = HitLog.empty();
