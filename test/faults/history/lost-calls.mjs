// Says by when the server has run what a process had sent, by what the process saw itself.

/**
 * A process sends its calls on one connection, and the server runs them in their order. So when a request has been
 * decided by Redis, so have those that were lost before it was sent, and what they took is given back before anything
 * that follows: two decisions in a row. ioredis sends each of the two calls a second time, behind the others, if the
 * server has forgotten its script.
 */
const DECISIONS_IN_A_ROW = 4;

/** What the processes of a history saw of Redis. */
export class LostCalls {
  #processes = new Map();

  constructor(history) {
    for (const line of history) {
      if (line.process === undefined) continue;
      if (!this.#processes.has(line.process))
        this.#processes.set(line.process, { failures: [], decided: [] });
      const { failures, decided } = this.#processes.get(line.process);
      if (line.event === 'storeError') failures.push(line.at);
      if (line.kind === 'request' && line.source === 'redis') decided.push(line);
    }
    for (const { decided } of this.#processes.values()) decided.sort((a, b) => a.sentAt - b.sentAt);
  }

  /** By when a request that was lost is surely run, and what it took is given back. */
  overAfter({ process, answeredAt }) {
    return this.#settledAfter(process, answeredAt);
  }

  /** By when a permit is surely released: later than its caller saw if a call of the process failed meanwhile. */
  releasedBy({ process, sentAt, endedAt }) {
    const isLost = this.#processes.get(process)?.failures.some((at) => at >= sentAt && at <= endedAt);
    return isLost ? this.#settledAfter(process, endedAt) : endedAt;
  }

  #settledAfter(process, instant) {
    const decided = this.#processes.get(process)?.decided ?? [];
    let at = instant;
    for (let nth = 0; nth < DECISIONS_IN_A_ROW; nth += 1) at = nextAnswer(decided, at);
    return at;
  }
}

/** The answer to the first request that was sent at an instant or later. */
function nextAnswer(decided, at) {
  let [low, high] = [0, decided.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decided[middle].sentAt < at) low = middle + 1;
    else high = middle;
  }
  return decided[low]?.answeredAt ?? Infinity;
}
