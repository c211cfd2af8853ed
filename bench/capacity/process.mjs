// A process of this library in virtual time, with a connection to each shard. Times are in microseconds.
import { Loop, costOf } from './event-loop.mjs';
import { Link, TIMEOUT } from './link.mjs';

/** CPU time of a process, chosen to fit the rows of growth-cluster and growth-connections. */
const COST = { wake: 12, socket: 4, call: 8.5, more: 2.5, local: 1 };

/** How long a denial is cached, and prefetched permits are kept. */
export const KEPT_FOR = 1_000_000;

/** Number of slots of a Cluster. */
export const SLOTS = 16_384;

/** A process: in a turn, it takes replies and new requests, and writes one call to each server. */
export class Process extends Loop {
  /** What it decides without Redis, by subject: prefetched permits, or a denial for any number of requests. */
  kept = new Map();
  /** Calls in flight for such subjects. */
  pending = new Map();

  /**
   * @param keeps number of requests for which a reply about a `kept` subject suffices; 0 without prefetch and deny cache
   * @param decided called with requests, the instant of their decision, and whether the fallback decided
   */
  constructor({ network, shards, keeps, random, decided }) {
    super(COST.wake, network);
    this.links = shards.map((shard) => new Link(this, shard));
    Object.assign(this, { keeps, random, decided });
  }

  turn(messages, start) {
    const turn = { end: start, calls: new Map(), decided: [], fallback: [] };
    for (const message of messages) {
      if (message.link) this.takeReplies(message, turn);
      else this.takeRequest(message, turn);
    }
    this.write(turn);
    this.decided(turn.decided, turn.end, false);
    this.decided(turn.fallback, turn.end, true);
    return turn.end;
  }

  takeReplies({ link, calls }, turn) {
    turn.end += COST.socket;
    for (const call of calls) {
      turn.end += costOf(COST, call) / 2;
      if (!link.replied(call)) continue;
      turn.decided.push(...call.requests);
      if (this.pending.get(call.subject) !== call) continue;
      this.pending.delete(call.subject);
      this.kept.set(call.subject, { left: this.keeps - call.requests.length, until: turn.end + KEPT_FOR });
    }
  }

  takeRequest(request, turn) {
    const { slot, subject } = request;
    const link = this.links[Math.floor((slot * this.links.length) / SLOTS)];
    const kept = this.kept.get(subject);
    if (kept?.left > 0 && kept.until > turn.end) {
      kept.left -= 1;
      turn.end += COST.local;
      turn.decided.push(request);
    } else if (link.probeAt !== undefined) {
      turn.end += COST.local;
      turn.fallback.push(request);
    } else this.addToCall(link, request, turn);
  }

  /** Adds a request to the pending call of its subject, which decides it too, or to the call of its server in this turn. */
  addToCall(link, request, { calls }) {
    const { subject } = request;
    const pending = this.pending.get(subject);
    const known = pending ?? calls.get(link);
    if (!pending && known) known.keys += 1;
    if (known) return known.requests.push(request);
    const call = { requests: [request], keys: 1 };
    if (this.keeps > 0 && subject !== undefined) this.pending.set((call.subject = subject), call);
    calls.set(link, call);
    link.waiting.push(call);
  }

  write(turn) {
    for (const link of this.links) {
      const calls = link.waiting.length > 0 ? link.write() : [];
      if (calls.length === 0) continue;
      turn.end += COST.socket;
      for (const call of calls) turn.end += costOf(COST, call) / 2;
      for (const call of calls) call.until = turn.end + TIMEOUT;
      link.shard.inbox.push({ at: turn.end + this.network, link, calls });
    }
  }

  /** Lets the fallback decide the requests whose deadline has passed. */
  expire(now) {
    for (const link of this.links) {
      const late = link.expire(now, this.random);
      for (const { subject } of late) this.pending.delete(subject);
      this.decided(
        late.flatMap(({ requests }) => requests),
        now,
        true,
      );
    }
  }
}
