// The connection of a process to a shard in virtual time: its queue, deadlines and circuit breaker. Times are in microseconds.

/** As in the library. */
export const TIMEOUT = 50_000;
const KEYS_IN_FLIGHT = 400;
const FAILURES_IN_A_ROW = 3;
const FIRST_PROBE = 100_000;

export class Link {
  waiting = [];
  inFlight = new Set();
  keys = 0;
  replies = 0;
  failures = 0;
  pause = FIRST_PROBE;
  /** While the breaker is open: when it probes next. */
  probeAt = undefined;

  constructor(process, shard) {
    Object.assign(this, { process, shard });
  }

  /** Returns the calls that may be written now. */
  write() {
    const { inFlight, replies } = this;
    const hasRoom = ({ keys }) => this.keys === 0 || this.keys + keys <= KEYS_IN_FLIGHT;
    const written = [];
    while (this.waiting.length > 0 && hasRoom(this.waiting[0])) {
      const call = this.waiting.shift();
      this.keys += call.keys;
      inFlight.add(call);
      written.push(Object.assign(call, { replies }));
    }
    return written;
  }

  /** Returns whether the reply to a call is in time. */
  replied(call) {
    if (!this.inFlight.delete(call)) return false;
    this.keys -= call.keys;
    this.replies += 1;
    this.failures = 0;
    if (call.isProbe) Object.assign(this, { probeAt: undefined, pause: FIRST_PROBE });
    return true;
  }

  /** Gives up calls without a reply in time, and all that wait behind them. Returns these calls. */
  expire(now, random) {
    const late = [];
    for (const call of this.inFlight) {
      if (call.until > now) break;
      this.inFlight.delete(call);
      this.keys -= call.keys;
      late.push(call, ...this.waiting.splice(0));
      if (call.replies === this.replies) this.failures += 1;
      const opens = this.failures >= FAILURES_IN_A_ROW && this.probeAt === undefined;
      if (opens || call.isProbe) this.probeAt = now + this.pause * (0.5 + random() / 2);
      if (call.isProbe) this.pause *= 2;
    }
    if (this.probeAt <= now) this.probe(now);
    return late;
  }

  probe(now) {
    this.probeAt = Infinity;
    this.waiting.push({ requests: [], keys: 1, isProbe: true });
    this.process.inbox.push({ at: now, link: this, calls: [] });
  }
}
