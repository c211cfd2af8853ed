/** How late an undelayed timer may be. */
const TIMER_LEEWAY_MS = 1;

/**
 * Measures the time in which the event loop of this process was running. A late tick shows that it was not: the process
 * was busy or suspended, and read no replies. Such a gap counts as one tick.
 */
export class AwakeTime {
  private passed = 0;
  private tickedAt = performance.now();

  /** @param tickMs the interval at which `tick` is called */
  constructor(private readonly tickMs: number) {}

  /** Milliseconds since an arbitrary instant. */
  get now(): number {
    return this.passed + Math.min(performance.now() - this.tickedAt, this.tickMs + TIMER_LEEWAY_MS);
  }

  tick(): void {
    this.passed = this.now;
    this.tickedAt = performance.now();
  }
}
