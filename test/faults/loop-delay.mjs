const TICK_MS = 10;

/** The total delay of the event loop of this process, in milliseconds. */
export class LoopDelay {
  total = 0;
  #waiting = [];

  constructor() {
    this.#tick(performance.now());
  }

  /** Calls back when the delay up to now is included in the total. */
  next(callback) {
    this.#waiting.push(callback);
  }

  #tick(last) {
    setTimeout(() => {
      const now = performance.now();
      this.total += Math.max(0, now - last - TICK_MS);
      for (const callback of this.#waiting.splice(0)) callback();
      this.#tick(now);
    }, TICK_MS).unref();
  }
}
