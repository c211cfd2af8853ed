import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseHistory, type HistoryLine } from './check-history.mjs';

const program = fileURLToPath(new URL('recording-application.mjs', import.meta.url));

export interface Progress {
  /** Requests that were made. */
  readonly requests: number;
  /** Decisions in a row that Redis has made. */
  readonly inARow: number;
}

export interface RecorderOptions {
  /** What the application connects with: a URL, or options of ioredis. */
  readonly redis: unknown;
  /** Where it writes its history. */
  readonly file: string;
  /** How many processes share the limits. */
  readonly instances: number;
  /** Whether its own clock decides, and not the server's. */
  readonly hasOwnClock: boolean;
}

/** An application that writes down its requests and its reports, as its parent sees it. */
export class Recorder {
  private constructor(
    private readonly child: ChildProcess,
    private readonly file: string,
    /** Rejects when the application ends. */
    private readonly ended: Promise<never>,
  ) {}

  /** Starts one of several applications on a server; it makes requests from then on. */
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
  /** Ends its requests, and has it write down what there was. */
  quiet = (): Promise<void> => this.command('quiet');
  /** Its own clock is wrong by so many milliseconds from now on. */
  step = (milliseconds: number): Promise<void> => this.command('step', milliseconds);
  /** What Redis has charged: lines of a history. */
  charged = (): Promise<HistoryLine[]> => this.command('charged');

  /** Ends the application. */
  async end(): Promise<void> {
    const ended = once(this.child, 'exit');
    await this.command('end');
    await ended;
  }

  /** What it had written down when it became quiet. */
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
