// A process that decides when it is told to, seen from its parent.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CHILD = fileURLToPath(new URL('decide-for-parent.mjs', import.meta.url));

/** A process of its own with one limiter and its connection. */
class DecidingProcess {
  /**
   * Starts one, and waits until it can decide.
   *
   * @param {{ limiter: string, url: string, keys: number, limit: number, rule?: object }} task
   */
  static async start(task) {
    const child = fork(CHILD, [JSON.stringify(task)]);
    const started = new DecidingProcess(child);
    await started.#told();
    return started;
  }

  #child;
  #ended;

  constructor(child) {
    this.#child = child;
    this.#ended = once(child, 'exit').then(() => {
      throw new Error('A deciding process has ended');
    });
    this.#ended.catch(() => undefined); // In the end it does, and nobody waits for it then.
  }

  /** Lets it decide for a while, and tells what `drive` of lanes.mjs tells. */
  async drive(load) {
    this.#child.send(load);
    return this.#told();
  }

  /** Ends it. */
  stop() {
    this.#child.disconnect();
  }

  async #told() {
    const [message] = await Promise.race([once(this.#child, 'message'), this.#ended]);
    return message;
  }
}

/** Starts so many processes that decide the same. */
export function startProcesses(count, task) {
  return Promise.all(Array.from({ length: count }, () => DecidingProcess.start(task)));
}

/** So many processes as one contestant. */
export const together = (processes) => ({
  async drive({ ms, atLeast, lanes }) {
    const runs = await Promise.all(processes.map((each) => each.drive({ ms, atLeast, lanes })));
    const sum = (figure) => runs.map((run) => run[figure]).reduce((total, value) => total + value);
    return {
      decisions: sum('decisions'),
      clientMicros: sum('clientMicros'),
      seconds: Math.max(...runs.map(({ seconds }) => seconds)),
      latencies: runs.flatMap(({ latencies }) => latencies),
    };
  },
});
