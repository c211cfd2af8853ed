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

/** A process that writes ids of denials, or did. */
export interface Writer {
  /** The name of the process in its heartbeats. */
  readonly id: string;
  /** The key of its ids, in hex. */
  readonly key: string;
  /** When it published the last time, in milliseconds since the epoch by its clock. */
  readonly seenAt: number;
}

/** Minutes that processes add up, in one slot of a Cluster. */
export class SharedMinutes {
  /** @param key the key of the heartbeats, with a hash tag: prefix of all keys */
  constructor(
    private readonly control: Control,
    private readonly key: string,
  ) {}

  /**
   * Adds a minute of a process that is over, and publishes its record without that minute.
   *
   * @param record absent if the process was killed: its record is deleted, and nothing is done if another process has
   */
  add(process: string, minute: AddedMinute, record = '', keptMs = KEPT_MS): Promise<unknown> {
    const names = [`minute:${minute.minute}`, `added:${process}`, `process:${process}`];
    const keys = names.map((name) => `${this.key}:${name}`);
    const args = [minute.minute, minute.counts, record && 1, record, keptMs, KEPT_MS, minute.mostRules];
    return this.control.run(addMinute, keys, args);
  }

  /** Returns the records of processes that have not published for longer than the page shows their seconds. */
  async left(): Promise<readonly string[]> {
    const [latest, ...others] = await this.writers(MOST_READ);
    const left = others.filter(({ seenAt }) => latest!.seenAt - seenAt > ENDED_MS);
    if (left.length === 0) return [];
    const keys = left.map(({ id }) => `${this.key}:process:${id}`);
    const texts = await this.control.call((redis) => redis.mget(keys));
    return texts.filter((text) => text !== null);
  }

  /** Returns the processes that have published last, the latest first. */
  async writers(most: number): Promise<readonly Writer[]> {
    const found = await this.control.call((redis) =>
      redis.zrange(`${this.key}:writers`, '0', String(most - 1), 'REV', 'WITHSCORES'),
    );
    return found.flatMap((member, nth) => {
      const [key, id] = member.split(' ') as [string, string];
      return nth % 2 === 0 ? { id, key, seenAt: Number(found[nth + 1]) } : [];
    });
  }
}
