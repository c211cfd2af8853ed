// Several processes with one application each (limited-app.mjs) on one Redis; see limited-apps.d.mts.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../support/redis/until.mjs';

const PROGRAM = fileURLToPath(new URL('limited-app.mjs', import.meta.url));
const AT_ONCE = 20;
const PAUSE_MS = 100;
const PATIENCE_MS = 30_000;

export class LimitedApps {
  #all;

  static async start(processes, redis) {
    const apps = new LimitedApps();
    apps.#all = await Promise.all(Array.from({ length: processes }, () => startApp(redis)));
    return apps;
  }

  /** Waits until Redis decides, and each application counts all of them. */
  async untilCounted() {
    const isCounted = ({ health: { instances, degraded } }) => instances === this.#all.length && !degraded;
    const areCounted = async () => {
      await sleep(100); // Polling without a pause would slow down what is waited for.
      return (await this.reports()).every(isCounted);
    };
    await until(areCounted, 'all processes to be counted by Redis', PATIENCE_MS);
  }

  /**
   * Sends requests of one client to the first application until Redis has allowed a number of them; returns the
   * responses.
   */
  async useUp(permits, client) {
    const answers = [];
    let left = permits;
    const one = async () => {
      const answer = await get(this.#all[0], client);
      answers.push(answer);
      if (answer.status === 200 && answer.source === 'redis') left -= 1;
      return left === 0;
    };
    await until(one, `Redis to allow ${permits} requests`, PATIENCE_MS);
    return answers;
  }

  /** Returns the responses of each application to a number of requests of one client. */
  ask(times, client) {
    return Promise.all(this.#all.map((app) => answersOf(app, times, client)));
  }

  reports() {
    return Promise.all(
      this.#all.map(async ({ url }) => {
        const response = await fetch(`${url}/report`);
        if (!response.ok) throw new Error(`the report has the status ${response.status}`);
        return response.json();
      }),
    );
  }

  async close() {
    await Promise.all(
      this.#all.map(async ({ child }) => {
        const exited = once(child, 'exit');
        child.disconnect();
        await exited;
      }),
    );
  }
}

async function startApp(redis) {
  const child = fork(PROGRAM, [redis]);
  const started = once(child, 'message');
  const [port] = await Promise.race([started, once(child, 'exit').then(failedToStart)]);
  return { child, url: `http://127.0.0.1:${port}` };
}

function failedToStart() {
  throw new Error('an application ended at its start');
}

async function answersOf(app, times, client) {
  const answers = [];
  while (answers.length < times) {
    if (answers.length > 0) await sleep(PAUSE_MS);
    const some = Array.from({ length: Math.min(AT_ONCE, times - answers.length) }, () => get(app, client));
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

async function get({ url }, client) {
  const response = await fetch(url, { headers: { 'x-forwarded-for': client } });
  await response.arrayBuffer();
  const { status, headers } = response;
  return { status, source: headers.get('x-source'), policy: headers.get('ratelimit-policy') };
}
