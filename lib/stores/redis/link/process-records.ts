import { randomBytes } from 'node:crypto';
import type { ChainableCommander } from 'ioredis';
import type { Control } from './control.js';

/** How long a record outlives its last update, in milliseconds. */
const KEPT_MS = 5000;
/** Maximum number of processes that are read. */
const MOST_READ = 256;

/** What all processes have published. */
export interface Records {
  /** A random text that all processes share. */
  readonly secret: string;
  /** The records of live processes. */
  readonly texts: readonly string[];
}

/** A question of a process to all processes. */
export interface Question {
  readonly id: string;
  readonly text: string;
}

/**
 * Texts that processes publish for one another: a record of each process, which expires when the process has died, and
 * questions with answers. Their heartbeats list the processes. All keys are in one slot of a Cluster, and all commands are among those of the limiter.
 */
export class ProcessRecords {
  private isPublishing = false;

  /**
   * @param key the key of the heartbeats, with a hash tag: prefix of all keys
   * @param id the name of this process in its heartbeats
   */
  constructor(
    private readonly control: Control,
    private readonly key: string,
    private readonly id: string,
  ) {}

  /**
   * Publishes the record of this process, unless Redis has not replied to the last one: while Redis hangs, its commands
   * would pile up.
   *
   * @returns the question that is open, if there is one
   */
  async publish(record: string): Promise<Question | undefined> {
    if (this.isPublishing) return undefined;
    const [, question] = await this.run(
      (pipeline) => {
        this.isPublishing = true;
        return pipeline
          .set(this.keyOf('process', this.id), record, 'PX', KEPT_MS)
          .mget(this.keyOf('question'));
      },
      () => (this.isPublishing = false),
    );
    const [text] = question as [string | null];
    return text === null ? undefined : (JSON.parse(text) as Question);
  }

  /** Reads the records of all processes. */
  async read(): Promise<Records> {
    const [, secrets, processes] = (await this.run((pipeline) =>
      pipeline
        .set(this.keyOf('secret'), randomBytes(32).toString('hex'), 'NX')
        .mget(this.keyOf('secret'))
        .zrange(this.key, '0', String(MOST_READ - 1), 'REV'),
    )) as [unknown, [string], string[]];
    const ids = processes.map((process) => process.split(' ')[0]!);
    const texts = await this.textsOf('process', ids);
    return { secret: secrets[0], texts: texts.filter((text) => text !== null) };
  }

  /**
   * Asks all processes. Their answers can be read for 5 seconds.
   *
   * @returns the question; `undefined` while another question is open: for 5 seconds at most
   */
  async ask(text: string): Promise<Question | undefined> {
    const question = { id: randomBytes(8).toString('hex'), text };
    const [reply] = await this.run((pipeline) =>
      pipeline.set(this.keyOf('question'), JSON.stringify(question), 'PX', KEPT_MS, 'NX'),
    );
    return reply === null ? undefined : question;
  }

  /** Makes room for another question. */
  async close({ id }: Question): Promise<void> {
    const [[text]] = (await this.run((pipeline) => pipeline.mget(this.keyOf('question')))) as [
      [string | null],
    ];
    if (text === null || (JSON.parse(text) as Question).id !== id) return;
    await this.run((pipeline) => pipeline.unlink(this.keyOf('question')));
  }

  async answer({ id }: Question, text: string): Promise<void> {
    await this.run((pipeline) => pipeline.set(this.keyOf('answer', id, this.id), text, 'PX', KEPT_MS));
  }

  /** Returns the answers of processes; `null` for one that has not answered yet. */
  answers({ id }: Question, processes: readonly string[]): Promise<readonly (string | null)[]> {
    return this.textsOf(`answer:${id}`, processes);
  }

  /** Removes the record of this process, and ends the access to Redis. */
  async end(): Promise<void> {
    await this.run((pipeline) => pipeline.unlink(this.keyOf('process', this.id))).catch(() => undefined);
    this.control.close();
  }

  private async textsOf(kind: string, ids: readonly string[]): Promise<readonly (string | null)[]> {
    if (ids.length === 0) return [];
    const [texts] = await this.run((pipeline) => pipeline.mget(...ids.map((id) => this.keyOf(kind, id))));
    return texts as (string | null)[];
  }

  private keyOf(...parts: readonly string[]): string {
    return [this.key, ...parts].join(':');
  }

  /**
   * @param settled called after the replies, also those after the deadline
   * @throws the first error of the commands, or a DeadlineError
   */
  private async run(
    add: (pipeline: ChainableCommander) => ChainableCommander,
    settled?: () => void,
  ): Promise<unknown[]> {
    const replies = await this.control.call((redis) => {
      const exec = add(redis.pipeline()).exec();
      if (settled) exec.then(settled, settled);
      return exec;
    });
    return (replies ?? []).map(([error, result]) => {
      if (error) throw error;
      return result;
    });
  }
}
