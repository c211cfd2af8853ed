import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AnyRule } from '../../lib/index.js';

export interface Stampede {
  url: string;
  prefix: string;
  rules: readonly AnyRule[];
  /** Hits of each process, and how many of them it has in flight at once. */
  hits: number;
  inFlight: number;
}

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));
const built = fileURLToPath(new URL('../../dist/esm/index.js', import.meta.url));

/** Processes that ask for permits at the same time, with the built package. */
export class Herd {
  private readonly processes: ChildProcess[];

  constructor(size: number) {
    if (!existsSync(built)) throw new Error('dist/esm is missing: run npm run build first');
    this.processes = Array.from({ length: size }, () => fork(worker, { execArgv: [] }));
  }

  /** How many hits were admitted, by process, when all began at once. */
  async run(task: Stampede): Promise<number[]> {
    await this.ask(task);
    return (await this.ask('go')) as number[];
  }

  /** The most that each process has seen inside at once, counting all processes, when all began at once. */
  async hold(task: Stampede): Promise<number[]> {
    await this.ask({ ...task, holds: true });
    return (await this.ask('go')) as number[];
  }

  async stop(): Promise<void> {
    const ended = this.processes.map((each) => hasEnded(each) || once(each, 'exit'));
    for (const each of this.processes) each.kill();
    await Promise.all(ended);
  }

  private ask(message: object | string): Promise<unknown[]> {
    return Promise.all(this.processes.map((each) => askOne(each, message)));
  }
}

/** Sends a message and waits for the answer, or for the end of a process that will not give one. */
function askOne(child: ChildProcess, message: object | string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('A worker has ended; its reason stands above'));
    if (hasEnded(child)) ended();
    child.once('exit', ended);
    child.once('message', (answer) => {
      child.off('exit', ended);
      resolve(answer);
    });
    if (!hasEnded(child)) child.send(message);
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
