// Sends as many requests as an application can handle, over persistent connections.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, CUT_OFF } from './connection.mjs';
import { requestsOf } from './requests.mjs';

/** The load on an application, from `start` to `stop`. */
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

  /** Starts the measurement after a number of responses. */
  async begin(answers) {
    while (this.#answered < answers) {
      await sleep(10);
      if (this.#unexpected.has(CUT_OFF)) this.end();
    }
    this.#latencies = [];
    this.#unexpected = new Map();
  }

  /**
   * Returns the latencies since `begin`, in microseconds.
   *
   * @throws if a response was not as expected for this contestant
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

  /**
   * A load generator that sleeps is woken by the application, which costs the application time: the more, the fewer
   * responses it sends at a time.
   */
  #stayAwake() {
    if (!this.#isOver) setImmediate(() => this.#stayAwake());
  }

  /**
   * Sends requests over one connection, each after the response to the previous one; resolves with the first
   * response.
   */
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
