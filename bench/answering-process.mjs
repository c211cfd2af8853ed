// A child process that replies to each message of its parent.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * Messages and replies are IPC messages, one at a time. The process ends when it is stopped or its parent has ended.
 */
export class AnsweringProcess {
  #child;
  #name;
  #exited;

  /**
   * Starts a module as a child process, and waits for the `answer` with which it reports that it is ready.
   *
   * @param {URL} module
   * @param {string[]} args
   * @param {{ name: string } & import('node:child_process').ForkOptions} options its name in error messages, and the
   *   options of `fork`
   */
  constructor(module, args, { name, ...options }) {
    this.#child = fork(fileURLToPath(module), args, options);
    this.#name = name;
    this.#exited = once(this.#child, 'exit');
  }

  /** Returns the next message of the process. */
  async answer() {
    const ended = this.#exited.then(() => {
      throw new Error(`${this.#name} ended`);
    });
    const [message] = await Promise.race([once(this.#child, 'message'), ended]);
    return message;
  }

  async ask(question) {
    this.#child.send(question);
    return this.answer();
  }

  async stop() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}
