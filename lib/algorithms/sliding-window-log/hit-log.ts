/**
 * A log of allowed requests, oldest first: the instant of each, and the running total of permits including it. The
 * first entry is not a request, but the base of the running total. The last request holds permits: requests after it
 * that were refunded in full are not in the log.
 *
 * Immutable for its user: `push` returns a new log that shares the entries, as a slice does, so that no request copies
 * them. Use only the newest log: a `push` to an older one overwrites entries of the newer ones.
 */
export class HitLog {
  /** The log of a fresh key. */
  static readonly EMPTY = new HitLog([0, 0], 0, 1);

  /**
   * @param values the instant of each entry, followed by its total: in one array, since each is memory to wait for
   * @param first the first entry
   * @param end the entry after the last one
   */
  private constructor(
    private readonly values: number[],
    private readonly first: number,
    private readonly end: number,
  ) {}

  get lastInstant(): number {
    return this.values[2 * this.end - 2]!;
  }

  get lastTotal(): number {
    return this.values[2 * this.end - 1]!;
  }

  /** Number of entries, including the base. */
  get length(): number {
    return this.end - this.first;
  }

  /** Number of entries in memory, including expired ones. */
  get heldLength(): number {
    return this.values.length / 2;
  }

  /** Returns the instant of an entry; `Infinity` past the end. */
  instant(index: number): number {
    return this.first + index < this.end ? this.values[2 * (this.first + index)]! : Infinity;
  }

  total(index: number): number {
    return this.values[2 * (this.first + index) + 1]!;
  }

  /** Returns the first index above 0 whose instant is at least `bound`; `length` if there is none. */
  firstInstantReaching(bound: number): number {
    return this.firstReaching(0, 0, bound);
  }

  /** Returns the first index above `low` whose total is at least `bound`; `length` if there is none. */
  firstTotalReaching(bound: number, low: number): number {
    return this.firstReaching(1, low, bound);
  }

  /** Returns the log with one more request, and with the entry at index `base` as its base. */
  push(instant: number, total: number, base: number): HitLog {
    const first = this.first + base;
    if (this === HitLog.EMPTY) return new HitLog([0, 0, instant, total], 0, 2);
    if (first > 32 && first * 2 > this.end) {
      const kept = this.values.slice(2 * first, 2 * this.end);
      return new HitLog(kept, 0, this.end - first).push(instant, total, 0);
    }
    this.values[2 * this.end] = instant;
    this.values[2 * this.end + 1] = total;
    return new HitLog(this.values, first, this.end + 1);
  }

  /** Returns the log with `cost` subtracted from the request at `index` and from all later totals. */
  reduce(index: number, cost: number): HitLog {
    const before = this.total(index - 1);
    if (this.lastTotal - cost <= before) return this.until(before);
    const values = this.values.slice(2 * this.first, 2 * this.end);
    for (let at = 2 * index + 1; at < values.length; at += 2)
      values[at] = Math.max(before, values[at]! - cost);
    return new HitLog(values, 0, this.length);
  }

  /** Returns the log up to the first request whose total is at least `total`. */
  private until(total: number): HitLog {
    if (total === this.total(0)) return HitLog.EMPTY;
    const end = this.first + this.firstTotalReaching(total, 0) + 1;
    return new HitLog(this.values, this.first, end);
  }

  /** Searches the instants (field 0) or the totals with doubling steps from `low`: requests mostly expire one by one, so the result is usually close. */
  private firstReaching(field: 0 | 1, low: number, bound: number): number {
    const { length, values } = this;
    const start = 2 * this.first + field;
    let stride = 1;
    let probe = low + 1;
    while (probe < length && values[start + 2 * probe]! < bound) {
      low = probe;
      stride *= 2;
      probe = low + stride;
    }
    probe = Math.min(probe, length);
    while (probe - low > 1) {
      const middle = (low + probe) >> 1;
      if (values[start + 2 * middle]! < bound) low = middle;
      else probe = middle;
    }
    return probe;
  }
}
