/** What a log is kept for: the longest window in use, see docs/adr/0028-changed-windows-of-a-log.md. */
export interface Kept {
  /** Microseconds. */
  readonly window: number;
  /** Permits. */
  readonly limit: number;
  /** Until when, in microseconds since the epoch; 0: for a window from the last hit on. */
  readonly until: number;
}

/**
 * A log of admitted hits, oldest first: the instant of each, and the permits admitted up to and
 * including it. The first entry is only the base to count from.
 *
 * Never changed in place as far as its holder can see: `push` gives a new log that shares the
 * entries, as a slice does, so that a log costs no copy a hit. Only the newest log is to be kept.
 */
export class HitLog {
  private constructor(
    private readonly instants: number[],
    private readonly totals: number[],
    private readonly first: number,
    private readonly end: number,
    readonly kept: Kept,
  ) {}

  static empty(): HitLog {
    return new HitLog([0], [0], 0, 1, { window: 0, limit: 0, until: 0 });
  }

  get lastInstant(): number {
    return this.instants[this.end - 1]!;
  }

  get lastTotal(): number {
    return this.totals[this.end - 1]!;
  }

  /** How many entries there are, the base included. */
  get length(): number {
    return this.end - this.first;
  }

  /** How many entries are in memory, expired ones included. */
  get heldLength(): number {
    return this.instants.length;
  }

  /** When nothing of it counts any more, in microseconds since the epoch. */
  get expiresAt(): number {
    return this.lastInstant + this.kept.window;
  }

  /** `Infinity` beyond the end. */
  instant(index: number): number {
    return this.first + index < this.end ? this.instants[this.first + index]! : Infinity;
  }

  total(index: number): number {
    return this.totals[this.first + index]!;
  }

  /** The first index above 0 whose instant reaches `bound`; one past the end if none does. */
  firstInstantReaching(bound: number): number {
    return this.firstReaching(this.instants, 0, bound);
  }

  /** The first index above `low` whose total reaches `bound`; one past the end if none does. */
  firstTotalReaching(bound: number, low: number): number {
    return this.firstReaching(this.totals, low, bound);
  }

  /** The log with a hit more, counted from `base`. */
  push(instant: number, total: number, base: number, kept: Kept): HitLog {
    const first = this.first + base;
    if (this === EMPTY_LOG) return new HitLog([0, instant], [0, total], 0, 2, kept);
    if (first > 32 && first * 2 > this.end) {
      const instants = this.instants.slice(first, this.end);
      const totals = this.totals.slice(first, this.end);
      return new HitLog(instants, totals, 0, instants.length, kept).push(instant, total, 0, kept);
    }
    this.instants[this.end] = instant;
    this.totals[this.end] = total;
    return new HitLog(this.instants, this.totals, first, this.end + 1, kept);
  }

  /** The log with `cost` less from the hit at `index`, and from every total behind it. */
  reduce(index: number, cost: number): HitLog {
    const before = this.total(index - 1);
    const instants = this.instants.slice(this.first, this.end);
    const totals = this.totals.slice(this.first, this.end);
    for (let at = index; at < totals.length; at++) totals[at] = Math.max(before, totals[at]! - cost);
    return new HitLog(instants, totals, 0, totals.length, this.kept);
  }

  /** Looks close by first, since most hits expire one by one. */
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
