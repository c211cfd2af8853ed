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

/** Minutes that processes add up, in one slot of a Cluster. */
export class SharedMinutes {
  /** @param key the key of the heartbeats, with a hash tag: prefix of all keys */
  constructor(
    private readonly control: Control,
    private readonly key: string,
  ) {}

  /** Adds a minute of this process that is over, and publishes its record without that minute. */
  add(process: string, minute: AddedMinute, record: string, keptMs = KEPT_MS): Promise<unknown> {
    return this.addTo(minute, process, [1, record, keptMs]);
  }

  /** Adds the last minute of a process that was killed, and deletes its record. Does nothing if another process has. */
  addOfKilled(process: string, minute: AddedMinute): Promise<unknown> {
    return this.addTo(minute, process, ['', '', 0]);
  }

  /** Returns the records of processes that have not published for longer than the page shows their seconds. */
  left(): Promise<readonly string[]> {
    return this.control.call(async (redis) => {
      const scored = await redis.zrange(
        `${this.key}:writers`,
        '0',
        String(MOST_READ - 1),
        'REV',
        'WITHSCORES',
      );
      const [, latest = '0'] = scored;
      const isLeft = (_: string, index: number): boolean =>
        index % 2 === 0 && Number(latest) - Number(scored[index + 1]) > ENDED_MS;
      const keys = scored.filter(isLeft).map((process) => `${this.key}:process:${idOf(process)}`);
      const texts = keys.length > 0 ? await redis.mget(keys) : [];
      return texts.filter((text) => text !== null);
    });
  }

  private addTo(
    { minute, counts, mostRules }: AddedMinute,
    process: string,
    [isComplete, record, keptMs]: readonly [isComplete: 1 | '', record: string, keptMs: number],
  ): Promise<unknown> {
    const keys = [`minute:${minute}`, `added:${process}`, `process:${process}`];
    const args = [minute, counts, isComplete, record, keptMs, KEPT_MS, mostRules];
    return this.control.run(
      addMinute,
      keys.map((key) => `${this.key}:${key}`),
      args,
    );
  }
}

/** Returns the id of a process in the list of those that publish. */
export function idOf(process: string): string {
  return process.split(' ')[1]!;
}
