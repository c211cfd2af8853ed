/** By how much a fault may make Redis allow more, or deny longer, than the rule states. */
export class Fault {
  #lost;
  #clock;

  constructor({ to = Infinity, lost, clock, servers = 1 } = {}) {
    /** When it was over. */
    this.to = to;
    this.#lost = lost;
    this.#clock = clock;
    /** Several servers run the calls of a process in no common order. */
    this.hasSeveralServers = servers > 1;
  }

  /** Whether Redis may have lost a charge. A permit that was taken ahead may be used after it was lost. */
  mayLose({ prefetch }, { subject, sentAt, answeredAt }) {
    if (!this.#lost) return false;
    const { from, to, subjects } = this.#lost;
    if (subjects && !subjects.includes(subject)) return false;
    return answeredAt > from && sentAt < to + (prefetch?.ttlMs ?? 0);
  }

  /** Whether Redis may have forgotten within this time that a subject is blocked. */
  mayEndBlocks(subject, from, to) {
    return this.#clock !== undefined || this.mayLose({}, { subject, sentAt: from, answeredAt: to });
  }

  /** How many windows, or leases, may be met within one, because the clock stepped over their ends. */
  windowsWithinOne({ windowMs, leaseMs }) {
    return this.#clock && (windowMs ?? leaseMs) <= this.#clock.ahead ? 1 + this.#clock.steps : 1;
  }

  /** How long the state of a rule may stay as it is: until a clock that stepped back is where it was. */
  get lateMs() {
    return this.#clock?.ahead ?? 0;
  }

  /** How many permits of a rule come and go with the clock's steps, if its window is longer than they are. */
  permitsOfSteps({ limit, windowMs = Infinity }) {
    const { lateMs } = this;
    return windowMs > lateMs ? Math.ceil((limit * lateMs) / windowMs) : 0;
  }
}
