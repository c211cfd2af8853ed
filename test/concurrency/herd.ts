import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AnyRule } from '../../lib/rules/rule.js';

export interface Task {
  url: string;
  prefix: string;
  rules: readonly AnyRule[];
  /** The time that replaces the server's clock, in milliseconds since the epoch. */
  now?: number;
}

export interface Stampede extends Task {
  /** Number of hits of each process, and how many of them are in flight at once. */
  hits: number;
  inFlight: number;
}

/** A permit that `acquire` waited for. Instants are those of the server, in microseconds. */
export interface Place {
  /** When it was reserved, and when it becomes available. */
  givenAt: number;
  placeAt: number;
  /** The reported wait, and when the wait ended. */
  delayMs: number;
  wentAt: number;
}

/** The result of holds that waited in one process. */
export interface Crowd {
  /** The lease of each hold, and when it joined the queue, in microseconds of the server. */
  joined: [lease: string, at: number][];
  /** How often the store was asked. */
  asks: number;
  /** The most permits held at once, of all processes. */
  most: number;
}

/** Streams that every process opens. */
export interface Streams extends Task {
  streams: number;
  /** Permits of the first rule that each reserves. */
  estimate: number;
  /** What the streams take in all, in turn. */
  lengths: readonly number[];
  /** What each takes in a step. */
  chunk: number;
}

/** The streams of one process. */
export interface StreamNews {
  running: number;
  used: number;
  /** What was used, and not charged when Redis last had permits left for the stream. */
  uncharged: number;
}

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));
const built = fileURLToPath(new URL('../../dist/esm/index.js', import.meta.url));

/** Processes that request permits at the same time, with the built package. */
export class Herd {
  private readonly processes: ChildProcess[];

  constructor(size: number) {
    if (!existsSync(built)) throw new Error('dist/esm is missing: run npm run build first');
    this.processes = Array.from({ length: size }, () => fork(worker, { execArgv: [] }));
  }

  /** Returns how many hits were allowed, by process, when all start at once. */
  async run(task: Stampede): Promise<number[]> {
    return (await this.tell({ ...task, does: 'consume' })) as number[];
  }

  /** Returns how many hits of each tenant were allowed, by process, when all start at once. */
  async share(task: Stampede & { tenants: readonly string[] }): Promise<number[][]> {
    return (await this.tell({ ...task, does: 'share' })) as number[][];
  }

  /** Returns the most permits held at once, as each process has seen it for all processes, when all start at once. */
  async hold(task: Stampede): Promise<number[]> {
    return (await this.tell({ ...task, does: 'hold' })) as number[];
  }

  /** Returns the permits that all processes waited for, in the order of their reservation. */
  async acquire(task: Stampede): Promise<Place[]> {
    const places = (await this.tell({ ...task, does: 'acquire' })) as Place[][];
    return places.flat().sort((a, b) => a.givenAt - b.givenAt || a.placeAt - b.placeAt);
  }

  /** Has every process wait for permits with all its holds at once, each for so many milliseconds. */
  async wait(task: Stampede & { stay?: number }): Promise<Crowd[]> {
    return (await this.tell({ ...task, does: 'wait' })) as Crowd[];
  }

  /** Has every process take permits and hold them until `leave`. Returns whether they were allowed. */
  async enter(task: Task & { cost: number }): Promise<boolean[]> {
    return (await this.tell({ ...task, does: 'enter' })) as boolean[];
  }

  /** Has every process open streams. They end with `leave`. */
  async stream(task: Streams): Promise<StreamNews[]> {
    return (await this.tell({ ...task, does: 'stream' })) as StreamNews[];
  }

  /** Has every stream take a chunk. */
  async step(): Promise<StreamNews[]> {
    return (await this.ask('step')) as StreamNews[];
  }

  /** Has every process release its permits. */
  async leave(): Promise<void> {
    await this.ask('leave');
  }

  /** Sets the clock of every process whose task has `now`. */
  setTime(now: number): void {
    for (const each of this.processes) each.send(now);
  }

  /** Kills one process (SIGKILL), and waits until it has ended. */
  async killOne(): Promise<void> {
    const killed = this.processes.pop()!;
    killed.kill('SIGKILL');
    if (!hasEnded(killed)) await once(killed, 'exit');
  }

  async stop(): Promise<void> {
    const ended = this.processes.map((each) => hasEnded(each) || once(each, 'exit'));
    for (const each of this.processes) each.kill();
    await Promise.all(ended);
  }

  private async tell(task: Task & { does: string }): Promise<unknown[]> {
    await this.ask(task);
    return this.ask('go');
  }

  private ask(message: object | string): Promise<unknown[]> {
    return Promise.all(this.processes.map((each) => askOne(each, message)));
  }
}

/** Sends a message and waits for the reply, or for the end of a process that sends none. */
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
