import { randomBytes } from 'node:crypto';
import { Deadline } from '../breaker/deadline.js';

/** How long a record outlives its last update, in milliseconds. */
const KEPT_MS = 5000;
/** How long the list of processes outlives the last process, in milliseconds. */
const LIST_KEPT_MS = 60_000;
const TIMEOUT_MS = 1000;
/** Maximum number of processes that are read. */
const MOST_READ = 256;

/** A client or Cluster of ioredis, with the commands that records need. */
interface Client {
  pipeline(): Pipeline;
}

interface Pipeline {
  set(key: string, value: string, unit: 'PX', milliseconds: number, condition?: 'NX'): Pipeline;
  set(key: string, value: string, condition: 'NX'): Pipeline;
  mget(...keys: string[]): Pipeline;
  unlink(key: string): Pipeline;
  zadd(key: string, score: number, member: string): Pipeline;
  zrange(key: string, first: number, last: number): Pipeline;
  zrem(key: string, ...members: string[]): Pipeline;
  pexpire(key: string, milliseconds: number): Pipeline;
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

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
 * questions with answers. All keys are in one slot of a Cluster, and all commands are among those of the limiter.
 */
export class ProcessRecords {
  private readonly deadline = new Deadline(TIMEOUT_MS);
  private isPublishing = false;

  /**
   * @param client of ioredis
   * @param key prefix of all keys, with a hash tag
   * @param id the name of this process
   */
  constructor(
    private readonly client: object,
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
    this.isPublishing = true;
    const [, , , question] = await this.run(
      (pipeline) =>
        pipeline
          .set(this.keyOf('process', this.id), record, 'PX', KEPT_MS)
          .zadd(this.keyOf('processes'), 0, this.id)
          .pexpire(this.keyOf('processes'), LIST_KEPT_MS)
          .mget(this.keyOf('question')),
      () => (this.isPublishing = false),
    );
    const [text] = question as [string | null];
    return text === null ? undefined : (JSON.parse(text) as Question);
  }

  /** Reads the records of all processes. */
  async read(): Promise<Records> {
    const [, secrets, ids] = (await this.run((pipeline) =>
      pipeline
        .set(this.keyOf('secret'), randomBytes(32).toString('hex'), 'NX')
        .mget(this.keyOf('secret'))
        .zrange(this.keyOf('processes'), 0, MOST_READ - 1),
    )) as [unknown, [string], string[]];
    const texts = await this.textsOf('process', ids);
    const dead = ids.filter((_, index) => texts[index] === null);
    if (dead.length > 0) await this.run((pipeline) => pipeline.zrem(this.keyOf('processes'), ...dead));
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

  /** Removes the record of this process. */
  async remove(): Promise<void> {
    await this.run((pipeline) =>
      pipeline.unlink(this.keyOf('process', this.id)).zrem(this.keyOf('processes'), this.id),
    );
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
  private async run(add: (pipeline: Pipeline) => Pipeline, settled?: () => void): Promise<unknown[]> {
    const exec = add((this.client as Client).pipeline()).exec();
    if (settled) exec.then(settled, settled);
    const replies = await this.deadline.within(exec);
    return (replies ?? []).map(([error, result]) => {
      if (error) throw error;
      return result;
    });
  }
}
