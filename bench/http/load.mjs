// As many requests as an app can take, on connections that are kept.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, CUT_OFF } from './connection.mjs';
import { requestsOf } from './requests.mjs';

/** Load on an app, from `start` to `stop`. */
export class Load {
  #app;
  #connections = [];
  #latencies = [];
  #unexpected = new Map();
  #answered = 0;
  #isOver = false;

  static async start(app) {
    const load = new Load(app);
    load.#stayAwake();
    await Promise.all(requestsOf(app.contestant).map((requests) => load.#askOn(requests)));
    return load;
  }

  constructor(app) {
    this.#app = app;
  }

  /** Begins to look when the app has answered so many requests. */
  async begin(answers) {
    while (this.#answered < answers) {
      await sleep(10);
      if (this.#unexpected.has(CUT_OFF)) this.end();
    }
    this.#latencies = [];
    this.#unexpected = new Map();
  }

  /**
   * The latencies since `begin`, in microseconds.
   *
   * @throws if an answer was not as this contestant's are meant to be
   */
  end() {
    const { platform, contestant } = this.#app;
    for (const [what, times] of this.#unexpected) {
      const expected = `instead of ${contestant.status}, ${times} times`;
      throw new Error(`${contestant.name} on ${platform}: ${what} ${expected}`);
    }
    return this.#latencies.slice();
  }

  stop() {
    this.#isOver = true;
    for (const connection of this.#connections) connection.close();
  }

  /** A load that sleeps is woken by the app, which pays for it, the more so the fewer answers it has at a time. */
  #stayAwake() {
    if (!this.#isOver) setImmediate(() => this.#stayAwake());
  }

  /** Asks on a connection of its own, and again as soon as there is an answer; resolves with the first one. */
  async #askOn(requests) {
    const connection = await Connection.open(this.#app.port);
    this.#connections.push(connection);
    let next = 0;
    await new Promise((resolve) => {
      const ask = () => {
        const sentAt = performance.now();
        connection.ask(requests[next++ % requests.length], (status) => {
          this.#note(status, sentAt);
          resolve();
          if (status !== CUT_OFF) ask();
        });
      };
      ask();
    });
  }

  #note(status, sentAt) {
    this.#answered += 1;
    this.#latencies.push((performance.now() - sentAt) * 1000);
    if (status === this.#app.contestant.status) return;
    this.#unexpected.set(status, (this.#unexpected.get(status) ?? 0) + 1);
  }
}
