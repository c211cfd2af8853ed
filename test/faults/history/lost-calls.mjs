// Determines when the server has executed the calls of a process, from the history of that process.

/**
 * A process sends its calls to a server over one connection, and the server executes them in order. So when Redis has
 * decided a request, it has also executed the lost calls that were sent before it, and their permits are released
 * before the next call: after two decisions in a row. If the server has lost its script, ioredis sends each of these
 * two calls a second time, after the others.
 */
const DECISIONS_IN_A_ROW = 4;

/**
 * The server may read the rest of a connection that was closed after calls of the next one, and with it after a release
 * of what its calls held. The release is repeated after this time at most: see docs/adr/0022-lost-calls.md.
 */
const RELEASED_AGAIN_MS = 1000;

/** The decisions of Redis, as recorded by the processes of a history. */
export class LostCalls {
  #lanes = new Map();
  #failures = new Map();
  #cuts = new Map();
  #laneOf;

  constructor(history, { hasSeveralServers }) {
    // Requests of one subject go to one server.
    this.#laneOf = ({ process, subject }) => (hasSeveralServers ? `${process} ${subject}` : process);
    for (const line of history) {
      if (line.event === 'storeError') listIn(this.#failures, line.process).push(line.at);
      if (line.isCut) listIn(this.#cuts, line.process).push(line.at);
      if (line.kind === 'request' && line.source === 'redis')
        listIn(this.#lanes, this.#laneOf(line)).push(line);
    }
    for (const decided of this.#lanes.values()) decided.sort((a, b) => a.sentAt - b.sentAt);
  }

  /** Returns when a lost request has certainly been executed, and its permits are released. */
  overAfter(request) {
    return this.#settledAfter(request, request.sentAt, request.answeredAt);
  }

  /**
   * Returns when a permit has certainly been released: later than its caller recorded if a call of the process failed
   * meanwhile. A refund whose reply was lost is not repeated, and may not have been executed.
   */
  returnedBy(returned) {
    if (!this.mayHaveLost(returned)) return returned.made === false ? Infinity : returned.endedAt;
    if (returned.made !== undefined) return returned.made ? returned.endedAt : Infinity;
    return this.#settledAfter(returned, returned.sentAt, returned.endedAt);
  }

  /** Whether a call of the process failed while a permit was released. */
  mayHaveLost({ process, sentAt, endedAt }) {
    return hasWithin(this.#failures.get(process), sentAt, endedAt);
  }

  #settledAfter(line, sentAt, endedAt) {
    const decided = this.#lanes.get(this.#laneOf(line)) ?? [];
    let at = endedAt;
    for (let nth = 0; nth < DECISIONS_IN_A_ROW; nth += 1) at = nextAnswer(decided, at);
    return hasWithin(this.#cuts.get(line.process), sentAt, endedAt) ? at + RELEASED_AGAIN_MS : at;
  }
}

function hasWithin(instants = [], from, to) {
  return instants.some((at) => at >= from && at <= to);
}

function listIn(map, name) {
  const list = map.get(name) ?? [];
  map.set(name, list);
  return list;
}

/** Returns the decision of the first request that was sent at an instant or later. */
function nextAnswer(decided, at) {
  let [low, high] = [0, decided.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (decided[middle].sentAt < at) low = middle + 1;
    else high = middle;
  }
  return decided[low]?.answeredAt ?? Infinity;
}
