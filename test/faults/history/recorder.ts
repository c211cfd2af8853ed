import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseHistory, type HistoryLine } from './check-history.mjs';

const program = fileURLToPath(new URL('recording-application.mjs', import.meta.url));

export interface Progress {
  /** Number of requests. */
  readonly requests: number;
  /** Number of consecutive decisions of Redis. */
  readonly inARow: number;
  /** The kinds of outcomes so far, as `outcomeOf` names them. */
  readonly outcomes: readonly string[];
}

export interface RecorderOptions {
  /** The connection of the application: a URL, or options of ioredis. */
  readonly redis: unknown;
  /** The file of its history. */
  readonly file: string;
  /** Number of processes that share the limits. */
  readonly instances: number;
  /** Whether its own clock decides instead of the server's. */
  readonly hasOwnClock: boolean;
}

/** An application that records its requests and reports, as seen by its parent. */
export class Recorder {
  private constructor(
    private readonly child: ChildProcess,
    private readonly file: string,
    /** Rejects when the application ends. */
    private readonly ended: Promise<never>,
  ) {}

  /** Starts one of several applications on a server; it sends requests from then on. */
  static async start(options: RecorderOptions): Promise<Recorder> {
    const child = fork(program, [JSON.stringify(options)]);
    const ended = once(child, 'exit').then((): never => {
      throw new Error('The application ended.');
    });
    ended.catch(() => undefined);
    await Promise.race([once(child, 'message'), ended]);
    return new Recorder(child, options.file, ended);
  }

  progress = (): Promise<Progress> => this.command('progress');
  /** Stops its requests, and has it write its last reports. */
  quiet = (): Promise<void> => this.command('quiet');
  /** Sets the error of its clock in milliseconds. */
  step = (milliseconds: number): Promise<void> => this.command('step', milliseconds);
  /** Returns the charges in Redis: lines of a history. */
  charged = (): Promise<HistoryLine[]> => this.command('charged');

  /** Stops the application. */
  async end(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.command('end');
    await ended;
  }

  /** Returns its history up to the end of its requests. */
  async read(): Promise<HistoryLine[]> {
    return parseHistory(await readFile(this.file, 'utf8'));
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }

  private async command<Answer>(command: string, value?: unknown): Promise<Answer> {
    const answered = once(this.child, 'message');
    this.child.send({ command, value });
    const [message] = (await Promise.race([answered, this.ended])) as [{ answer: Answer; error?: string }];
    if (message.error !== undefined) throw new Error(message.error);
    return message.answer;
  }
}
