/** How late a timer is that nothing delays. */
const TIMER_LEEWAY_MS = 1;

/**
 * Measures time in which the event loop of this process ran. A tick that comes late shows that it did not:
 * the process was busy or not scheduled, and read no replies. Such a gap counts as one tick.
 */
export class AwakeTime {
  private passed = 0;
  private tickedAt = performance.now();

  /** @param tickMs how far apart `tick` is to be called */
  constructor(private readonly tickMs: number) {}

  /** Milliseconds from any instant. */
  get now(): number {
    return this.passed + Math.min(performance.now() - this.tickedAt, this.tickMs + TIMER_LEEWAY_MS);
  }

  tick(): void {
    this.passed = this.now;
    this.tickedAt = performance.now();
  }
}
