// Says by when the server has run what a process had sent, by what the process saw itself.

/**
 * A process sends its calls to a server on one connection, and the server runs them in their order. So when a request
 * has been decided by Redis, so have those that were lost before it was sent, and what they took is given back before
 * anything that follows: two decisions in a row. ioredis sends each of the two calls a second time, behind the others,
 * if the server has forgotten its script.
 */
const DECISIONS_IN_A_ROW = 4;

/** What the processes of a history saw of Redis. */
export class LostCalls {
  #lanes = new Map();
  #failures = new Map();
  #laneOf;

  constructor(history, { hasSeveralServers }) {
    // Requests of one subject go to one server.
    this.#laneOf = ({ process, subject }) => (hasSeveralServers ? `${process} ${subject}` : process);
    for (const line of history) {
      if (line.event === 'storeError') listIn(this.#failures, line.process).push(line.at);
      if (line.kind === 'request' && line.source === 'redis')
        listIn(this.#lanes, this.#laneOf(line)).push(line);
    }
    for (const decided of this.#lanes.values()) decided.sort((a, b) => a.sentAt - b.sentAt);
  }

  /** By when a request that was lost is surely run, and what it took is given back. */
  overAfter(request) {
    return this.#settledAfter(request, request.answeredAt);
  }

  /**
   * By when a permit is surely given back: later than its caller saw if a call of the process failed meanwhile. A refund
   * whose answer was lost is not repeated, and may not have been made.
   */
  returnedBy(returned) {
    if (!this.mayHaveLost(returned)) return returned.made === false ? Infinity : returned.endedAt;
    if (returned.made !== undefined) return returned.made ? returned.endedAt : Infinity;
    return this.#settledAfter(returned, returned.endedAt);
  }

  /** Whether a call of the process failed while a permit was given back. */
  mayHaveLost({ process, sentAt, endedAt }) {
    return (this.#failures.get(process) ?? []).some((at) => at >= sentAt && at <= endedAt);
  }

  #settledAfter(line, instant) {
    const decided = this.#lanes.get(this.#laneOf(line)) ?? [];
    let at = instant;
    for (let nth = 0; nth < DECISIONS_IN_A_ROW; nth += 1) at = nextAnswer(decided, at);
    return at;
  }
}

function listIn(map, name) {
  const list = map.get(name) ?? [];
  map.set(name, list);
  return list;
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
