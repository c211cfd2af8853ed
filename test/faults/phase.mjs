import { createHistogram } from 'node:perf_hooks';

/** The outcomes of the hits that began in one phase of the run. */
export class Phase {
  #waits = createHistogram();
  #guests = new Map();
  #figures = {
    startedAt: performance.now(),
    asked: 0,
    decided: 0,
    /** Number of decisions by source. */
    redis: 0,
    fallback: 0,
    cache: 0,
    memory: 0,
    /** The most hits of one guest that Redis has allowed. */
    mostOfAGuest: 0,
    /** The longest wait in milliseconds, without delays of the event loop. */
    longestOwnWait: 0,
    tally: { asked: 0, admitted: 0 },
    /** The time of the first decision by Redis. */
    redisAt: null,
    /** Number of the latest consecutive decisions by Redis or by the deny cache. */
    inARow: 0,
  };

  constructor(name) {
    this.name = name;
  }

  began(isTally) {
    this.#figures.asked++;
    if (isTally) this.#figures.tally.asked++;
  }

  decided({ allowed, source }, { wait, isTally, guest }) {
    const figures = this.#figures;
    figures.decided++;
    figures[source]++;
    figures.inARow = source === 'fallback' ? 0 : figures.inARow + 1;
    this.#waits.record(Math.max(1, Math.round(wait * 1000)));
    if (source !== 'redis') return;
    figures.redisAt ??= performance.now();
    if (!allowed) return;
    if (isTally) figures.tally.admitted++;
    else this.#admitted(guest);
  }

  waited(milliseconds) {
    this.#figures.longestOwnWait = Math.max(this.#figures.longestOwnWait, milliseconds);
  }

  figures() {
    const [p50, p99] = [50, 99].map((percent) => this.#waits.percentile(percent) / 1000);
    return { ...this.#figures, wait: { p50, p99, max: this.#waits.max / 1000 } };
  }

  #admitted(guest) {
    const admitted = (this.#guests.get(guest) ?? 0) + 1;
    this.#guests.set(guest, admitted);
    this.#guests.delete(guest - 1000); // Freed, because the heap must not contain objects of the test.
    this.#figures.mostOfAGuest = Math.max(this.#figures.mostOfAGuest, admitted);
  }
}
