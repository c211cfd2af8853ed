// The parent's side of an app's process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const APP = fileURLToPath(new URL('app.mjs', import.meta.url));

/** Starts a contestant's app on a free port of 127.0.0.1. It ends when it is stopped or its parent is gone. */
export async function startApp(platform, contestant, redis) {
  const args = [platform, contestant.name, ...(redis ? [redis] : [])];
  const child = fork(APP, args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const app = new AppProcess(child, platform, contestant);
  const { port } = await app.answer();
  return Object.assign(app, { port });
}

class AppProcess {
  #child;
  #exited;

  constructor(child, platform, contestant) {
    this.#child = child;
    this.#exited = once(child, 'exit');
    this.platform = platform;
    this.contestant = contestant;
  }

  /** What the process says next. */
  async answer() {
    const ended = this.#exited.then(() => {
      throw new Error(`the app of ${this.contestant.name} on ${this.platform} ended`);
    });
    const [message] = await Promise.race([once(this.#child, 'message'), ended]);
    return message;
  }

  /** @param {'usage' | 'startProfile' | 'stopProfile'} question */
  async ask(question) {
    this.#child.send(question);
    return this.answer();
  }

  async stop() {
    if (this.#child.connected) this.#child.disconnect();
    await this.#exited;
  }
}
