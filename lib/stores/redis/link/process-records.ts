import { randomBytes } from 'node:crypto';
import addListed from './add-listed.lua.js';
import addMinute from './add-minute.lua.js';
import type { Control } from './control.js';

/** How long minutes are kept, and the last record of a process that was killed, in milliseconds. */
export const KEPT_MS = 65 * 60_000;
/** How long the record of a process that has ended is kept: as long as the page shows its seconds. */
export const ENDED_MS = 130_000;
/** Maximum number of processes that are read. */
export const MOST_READ = 256;

/** A minute of a process, which is added to the same minute of the others. */
export interface AddedMinute {
  /** Minutes since the epoch. */
  readonly minute: number;
  /** The counts as JSON. */
  readonly counts: string;
  /** Maximum number of rules in a minute. */
  readonly mostRules: number;
}

/** How long questions and answers are kept. */
const ANSWERED_MS = 5000;

/** A text of a list, after the instant at which it ends, in milliseconds since the epoch. */
export type Listed = readonly [end: number, text: string];

/** Maximum number of processes whose ids can be recognised, and for how long after the last has ended, in milliseconds. */
const MOST_WRITERS = 1000;
const WRITERS_KEPT_MS = 86_400_000;

/** A question of a process to all processes. */
export interface Question {
  readonly id: string;
  readonly text: string;
}

/**
 * Texts that processes publish for one another: a record of each process, minutes that they add up, and questions with
 * answers. A list has the processes that published last. All keys are in one slot of a Cluster, and all commands are among those of
 * the limiter.
 */
export class ProcessRecords {
  private isPublishing = false;
  private hasTrimmed = false;

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
   * @param key the key of the ids of its denials, in hex
   * @returns the question that is open, if there is one
   */
  async publish(record: string, key: string): Promise<Question | undefined> {
    if (this.isPublishing) return undefined;
    const writers = this.keyOf('writers');
    const [, text] = await this.control.call((redis) => {
      this.isPublishing = true;
      const replies = Promise.all([
        redis.set(this.keyOf('process', this.id), record, 'PX', KEPT_MS),
        redis.get(this.keyOf('ask')),
        redis.zadd(writers, Date.now(), `${key} ${this.id}`),
        redis.pexpire(writers, WRITERS_KEPT_MS),
        ...(this.hasTrimmed ? [] : [redis.zremrangebyrank(writers, 0, -MOST_WRITERS - 1)]),
      ]);
      this.hasTrimmed = true; // Only a process that begins adds a writer.
      return replies.finally(() => (this.isPublishing = false)); // also after the deadline
    });
    return questionIn(text);
  }

  /**
   * Reads what all processes have published: a random text that they share (`secret`), the records of those that are alive
   * and of those that ended lately, each with the milliseconds until it expires, and minutes that they have added, as JSON,
   * `null` if Redis has none.
   *
   * @param minutes at least one, in minutes since the epoch
   */
  async read(minutes: readonly number[]) {
    const [, secret, heartbeats] = await this.control.call((redis) =>
      Promise.all([
        redis.set(this.keyOf('secret'), randomBytes(32).toString('hex'), 'NX'),
        redis.get(this.keyOf('secret')),
        redis.zrange(this.key, '0', String(MOST_READ - 1), 'REV'),
      ]),
    );
    const writers = await this.writers(MOST_READ);
    // Processes of versions that write no ids of denials have a heartbeat only.
    const ids = [...writers.map(({ id }) => id), ...heartbeats.map((each) => each.split(' ')[0]!)];
    const keys = [...new Set(ids)].slice(0, MOST_READ).map((id) => this.keyOf('process', id));
    const all = [...keys, ...minutes.map((minute) => this.keyOf('minute', String(minute)))];
    const [texts, ...left] = await this.control.call((redis) =>
      Promise.all([redis.mget(all), ...keys.map((key) => redis.pttl(key))]),
    );
    const records = keys.flatMap((_, index) => {
      const text = texts[index];
      return text ? { text, leftMs: left[index]! } : [];
    });
    return { secret: secret!, records, minutes: texts.slice(keys.length) };
  }

  /**
   * Adds a minute of a process that is over, and publishes its record without that minute.
   *
   * @param record absent if the process was killed: its record is deleted, and nothing is done if another process has
   */
  addMinute(process: string, minute: AddedMinute, record = '', keptMs = KEPT_MS): Promise<unknown> {
    const names = [`minute:${minute.minute}`, `added:${process}`, `process:${process}`];
    const keys = names.map((name) => this.keyOf(name));
    const args = [minute.minute, minute.counts, record && 1, record, keptMs, KEPT_MS, minute.mostRules];
    return this.control.run(addMinute, keys, args);
  }

  /** Returns the records of processes that have not published for longer than the page shows their seconds. */
  async left(): Promise<readonly string[]> {
    const [latest, ...others] = await this.writers(MOST_READ);
    const left = others.filter(({ seenAt }) => latest!.seenAt - seenAt > ENDED_MS);
    if (left.length === 0) return [];
    const keys = left.map(({ id }) => this.keyOf('process', id));
    const texts = await this.control.call((redis) => redis.mget(keys));
    return texts.filter((text) => text !== null);
  }

  /**
   * Returns the processes that write ids of denials, and those that did: those that have published last, the latest first,
   * with their names in heartbeats, the keys of their ids in hex, and when they published the last time, in milliseconds
   * since the epoch by their clocks.
   */
  async writers(most = MOST_WRITERS) {
    const found = await this.control.call((redis) =>
      redis.zrange(this.keyOf('writers'), '0', String(most - 1), 'REV', 'WITHSCORES'),
    );
    return found.flatMap((member, nth) => {
      const [key, id] = member.split(' ') as [string, string];
      return nth % 2 === 0 ? { id, key, seenAt: Number(found[nth + 1]) } : [];
    });
  }

  /**
   * Asks all processes. Their answers can be read for 5 seconds.
   *
   * @returns the question; `undefined` while another question is open: for 5 seconds at most
   */
  async ask(text: string): Promise<Question | undefined> {
    const question = { id: randomBytes(8).toString('hex'), text };
    const reply = await this.control.call((redis) =>
      redis.set(this.keyOf('ask'), JSON.stringify(question), 'PX', ANSWERED_MS, 'NX'),
    );
    return reply === null ? undefined : question;
  }

  /** Makes room for another question. */
  async endQuestion({ id }: Question): Promise<void> {
    const text = await this.control.call((redis) => redis.get(this.keyOf('ask')));
    if (questionIn(text)?.id === id) await this.control.call((redis) => redis.unlink(this.keyOf('ask')));
  }

  async answer({ id }: Question, text: string): Promise<void> {
    await this.control.call((redis) => redis.set(this.keyOf('answer', id, this.id), text, 'PX', ANSWERED_MS));
  }

  /** Returns the answers of processes; `null` for one that has not answered yet. */
  answers({ id }: Question, processes: readonly string[]): Promise<readonly (string | null)[]> {
    return this.control.call((redis) => redis.mget(processes.map((each) => this.keyOf('answer', id, each))));
  }

  /**
   * Adds texts to a list of all processes, removes those that have ended, and keeps those that end last. The list expires
   * with its last text.
   */
  async addListed(name: string, added: readonly Listed[], most: number): Promise<void> {
    const args = [Date.now(), most, ...added.flat()];
    await this.control.run(addListed, [this.keyOf('list', name)], args);
  }

  /** Returns the texts of a list that end at or after an instant, the first to end first. */
  async listed(name: string, from: number): Promise<readonly Listed[]> {
    const key = this.keyOf('list', name);
    const found = await this.control.call((redis) =>
      redis.zrange(key, from, '+inf', 'BYSCORE', 'WITHSCORES'),
    );
    return found.flatMap((text, nth) => (nth % 2 === 0 ? [[Number(found[nth + 1]), text] as const] : []));
  }

  async removeListed(name: string, texts: readonly string[]): Promise<void> {
    await this.control.call((redis) => redis.zrem(this.keyOf('list', name), ...texts));
  }

  close(): void {
    this.control.close();
  }

  private keyOf(...parts: readonly string[]): string {
    return [this.key, ...parts].join(':');
  }
}

function questionIn(text: string | null): Question | undefined {
  return text === null ? undefined : (JSON.parse(text) as Question);
}
