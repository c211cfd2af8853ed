/** How much more a fault may make Redis allow, or how much longer deny, than the rule states. */
export class Fault {
  #lost;
  #clock;

  constructor({ to = Infinity, lost, clock, servers = 1 } = {}) {
    /** When it was over. */
    this.to = to;
    this.#lost = lost;
    this.#clock = clock;
    /** Several servers execute the calls of a process in any order. */
    this.hasSeveralServers = servers > 1;
  }

  /** Whether Redis may have lost a charge. A prefetched permit may be used after its charge was lost. */
  mayLose({ prefetch }, { subject, sentAt, answeredAt }) {
    if (!this.#lost) return false;
    const { from, to, subjects } = this.#lost;
    if (subjects && !subjects.includes(subject)) return false;
    return answeredAt > from && sentAt < to + (prefetch?.ttlMs ?? 0);
  }

  /** Whether the clock was set: a charge from before is not refunded. */
  get isClockSet() {
    return this.#clock !== undefined;
  }

  /** Whether Redis may have lost the block of a subject within this time. */
  mayEndBlocks(subject, from, to) {
    return this.#clock !== undefined || this.mayLose({}, { subject, sentAt: from, answeredAt: to });
  }

  /** The number of windows or leases that may overlap one window, because the clock stepped over their ends. */
  windowsWithinOne({ windowMs, leaseMs }) {
    return this.#clock && (windowMs ?? leaseMs) <= this.#clock.ahead ? 1 + this.#clock.steps : 1;
  }

  /** How long the state of a rule may not change: until a clock that stepped back has caught up. */
  get lateMs() {
    return this.#clock?.ahead ?? 0;
  }

  /**
   * How many permits of a rule may expire and be used again because of clock steps, if its window is longer than the
   * steps.
   */
  permitsOfSteps({ limit, windowMs = Infinity }) {
    const { lateMs } = this;
    return windowMs > lateMs ? Math.ceil((limit * lateMs) / windowMs) : 0;
  }
}
