// A process that answers each question, seen from its parent.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What is asked and answered are IPC messages, one at a time. It ends when it is stopped or its parent is gone. */
export class AnsweringProcess {
  #child;
  #name;
  #exited;

  /**
   * Starts a module, which says first when it is ready: wait for that `answer`.
   *
   * @param {URL} module
   * @param {string[]} args
   * @param {{ name: string } & import('node:child_process').ForkOptions} options what errors call it, and how to fork
   */
  constructor(module, args, { name, ...options }) {
    this.#child = fork(fileURLToPath(module), args, options);
    this.#name = name;
    this.#exited = once(this.#child, 'exit');
  }

  /** What the process says next. */
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
