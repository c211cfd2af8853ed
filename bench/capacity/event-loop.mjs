// Event loops in virtual time that exchange messages, and the one of Redis. Times are in microseconds.

/** CPU time of a shard, chosen to fit the rows of growth-cluster and growth-connections. */
const COST = { wake: 10, socket: 5.7, call: 6.8, more: 2.75 };

/** The first key of a call has the cost of the call; further ones share it. */
export function costOf({ call, more }, { keys }) {
  return call + more * (keys - 1);
}

/** An event loop. A turn handles all messages that have arrived, and its output leaves when it ends. */
export class Loop {
  busy = 0;
  freeAt = 0;
  inbox = [];

  constructor(wake, network) {
    Object.assign(this, { wake, network });
  }

  /** Returns how long the turn that has begun lasts beyond an instant. */
  overshoot(instant) {
    return Math.max(0, this.freeAt - instant);
  }

  /** Runs all turns that start before an instant. */
  runUntil(instant) {
    const inbox = this.inbox.sort((one, other) => one.at - other.at);
    let first = 0;
    for (;;) {
      const start = Math.max(this.freeAt, inbox[first]?.at ?? Infinity);
      if (start >= instant) break;
      const wake = inbox[first].at > this.freeAt ? this.wake : 0;
      const from = first;
      while (inbox[first]?.at <= start) first += 1;
      this.freeAt = this.turn(inbox.slice(from, first), start + wake);
      this.busy += this.freeAt - start;
    }
    this.inbox = inbox.slice(first);
  }
}

/** Redis: in a turn, it reads from all connections with data, runs their calls, and then writes the replies. */
export class Shard extends Loop {
  constructor(network) {
    super(COST.wake, network);
  }

  turn(groups, start) {
    const replies = new Map(groups.map(({ link }) => [link, []]));
    let end = start + replies.size * COST.socket;
    for (const { link, calls } of groups) {
      replies.get(link).push(...calls);
      for (const call of calls) end += costOf(COST, call);
    }
    for (const [link, calls] of replies) link.process.inbox.push({ at: end + this.network, link, calls });
    return end;
  }
}
