import { createHistogram } from 'node:perf_hooks';

/** What became of the hits that began in one part of the run. */
export class Phase {
  #waits = createHistogram();
  #guests = new Map();
  #figures = {
    startedAt: performance.now(),
    asked: 0,
    decided: 0,
    /** Decisions by their source. */
    redis: 0,
    fallback: 0,
    cache: 0,
    memory: 0,
    /** The most hits of one guest that Redis has let in. */
    mostOfAGuest: 0,
    /** The longest wait in milliseconds, without what the event loop was late by. */
    longestOwnWait: 0,
    tally: { asked: 0, admitted: 0 },
    /** When Redis has decided for the first time. */
    redisAt: null,
    /** How many decisions in a row the last ones of Redis, or its denials remembered, are. */
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
    this.#guests.delete(guest - 1000); // Long decided: the heap must show nothing of ours.
    this.#figures.mostOfAGuest = Math.max(this.#figures.mostOfAGuest, admitted);
  }
}
