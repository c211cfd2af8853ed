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
    let sum = 0;
    for (let each = second - length; each < second; each += 1) sum += this.at(each);
    return sum;
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
