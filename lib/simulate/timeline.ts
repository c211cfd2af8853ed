/** Number of bars of a chart: even, since neighbours are joined when the time does not fit. */
const BARS = 120;

/** A part of the time: its start and length in seconds since the epoch, and its requests by outcome. */
export interface Bar {
  readonly start: number;
  readonly seconds: number;
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
}

/** Counts requests by outcome in at most 120 bars of equal length, which doubles until the time fits. */
export class Timeline {
  private readonly counts = new Float64Array(BARS * 3);
  private start = -1;
  private width = 1;

  /** @param second seconds since the epoch, never before an earlier call */
  add(second: number, outcome: number): void {
    if (this.start < 0) this.start = second;
    while (second - this.start >= this.width * BARS) this.join();
    this.counts[Math.floor((second - this.start) / this.width) * 3 + outcome]! += 1;
  }

  /** Returns the bars up to the last one with a request. */
  bars(): readonly Bar[] {
    const bars = Array.from({ length: BARS }, (_, index) => ({
      start: this.start + index * this.width,
      seconds: this.width,
      allowed: this.counts[index * 3]!,
      delayed: this.counts[index * 3 + 1]!,
      denied: this.counts[index * 3 + 2]!,
    }));
    return bars.slice(0, bars.findLastIndex((bar) => bar.allowed + bar.delayed + bar.denied > 0) + 1);
  }

  private join(): void {
    const { counts } = this;
    for (let index = 0; index < BARS / 2; index += 1) {
      for (let outcome = 0; outcome < 3; outcome += 1) {
        counts[index * 3 + outcome] = counts[index * 6 + outcome]! + counts[index * 6 + 3 + outcome]!;
      }
    }
    counts.fill(0, (BARS / 2) * 3);
    this.width *= 2;
  }
}
