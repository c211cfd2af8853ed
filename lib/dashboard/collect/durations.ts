/** Counts events for each of the last seconds. */
export class Seconds {
  private readonly counts: Uint32Array;
  private last = 0;

  /** @param kept number of seconds that are kept, including the current one */
  constructor(private readonly kept: number) {
    this.counts = new Uint32Array(kept);
  }

  /** Counts an event. One of an earlier second than the last, after the clock was set back, counts for the last. */
  add(second: number): void {
    if (second > this.last) this.advance(second);
    this.counts[this.last % this.kept]! += 1;
  }

  /** Returns the counts of a number of seconds before a second, the oldest first. */
  before(second: number, length: number): number[] {
    return Array.from({ length }, (_, index) => this.at(second - length + index));
  }

  /** Returns the sum of the counts of a number of seconds before a second. */
  sum(second: number, length: number): number {
    let total = 0;
    for (let each = second - length; each < second; each += 1) total += this.at(each);
    return total;
  }

  private at(second: number): number {
    return second > this.last || second <= this.last - this.kept ? 0 : this.counts[second % this.kept]!;
  }

  private advance(second: number): void {
    const first = Math.max(this.last + 1, second - this.kept + 1);
    for (let each = first; each <= second; each += 1) this.counts[each % this.kept] = 0;
    this.last = second;
  }
}

/** Durations below are in the first bucket. */
const SMALLEST_MS = 0.01;

/** Buckets for each doubling of the duration: a bound is at most 19 % above a duration in its bucket. */
const PER_DOUBLING = 4;

/** Up to 10 s. */
const BUCKETS = 80;

/** Counts of durations by bucket: the index and the count of each bucket that has some. */
export type DurationCounts = readonly (readonly [bucket: number, count: number])[];

/** Counts durations for each of the last seconds, in buckets whose bounds grow by 2^(1/4). */
export class Durations {
  private readonly buckets: Seconds[];

  /** @param kept number of seconds that are kept, including the current one */
  constructor(private readonly kept: number) {
    this.buckets = Array.from({ length: BUCKETS }, () => new Seconds(kept));
  }

  add(second: number, durationMs: number): void {
    this.buckets[bucketOf(durationMs)]!.add(second);
  }

  /** Returns the durations of all seconds that are kept before a second. */
  before(second: number): DurationCounts {
    const counts = this.buckets.map((bucket, index) => [index, bucket.sum(second, this.kept)] as const);
    return counts.filter(([, count]) => count > 0);
  }
}

/** Returns the upper bound of the bucket that has a percentile, in milliseconds; `undefined` without durations. */
export function percentile(counts: DurationCounts, share: number): number | undefined {
  let left = Math.ceil(sum(counts.map(([, count]) => count)) * share);
  for (const [bucket, count] of [...counts].sort(([one], [other]) => one - other)) {
    left -= count;
    if (left <= 0) return SMALLEST_MS * 2 ** (bucket / PER_DOUBLING);
  }
  return undefined;
}

function bucketOf(durationMs: number): number {
  if (!(durationMs > SMALLEST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(durationMs / SMALLEST_MS) * PER_DOUBLING));
}

export function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
