import { Call } from './call.js';
import type { StoreClient } from './connection.js';
import { isLimiterLibrary, type Library } from './library.js';

const HOUR_MS = 3_600_000;

interface AdminClient extends StoreClient {
  call(command: string, ...args: string[]): Promise<unknown>;
}

/**
 * Deletes libraries of other releases that no process has reported for a day. A process reports its own library once an
 * hour, with a heartbeat. If a library is deleted too early, the next call that needs it loads it again.
 */
export class OldLibraries {
  private namedAt: number;

  /**
   * @param library the library of this process; absent if it runs scripts
   * @param run runs a call
   * @param stopwatch a monotonic clock: milliseconds since an arbitrary instant
   */
  constructor(
    private readonly site: { readonly client: StoreClient },
    private readonly library: Library | undefined,
    private readonly run: (call: Call) => Promise<unknown>,
    private readonly stopwatch: () => number,
  ) {
    this.namedAt = stopwatch();
  }

  /**
   * Reports the library and deletes old ones, if an hour has passed. A server that does not permit it keeps them.
   *
   * @param heartbeats the key of the heartbeats
   */
  async sweep(heartbeats: string, now: number | ''): Promise<void> {
    if (!this.library || this.stopwatch() - this.namedAt < HOUR_MS) return;
    this.namedAt = this.stopwatch();
    const { client } = this.site;
    const masters = (client.nodes?.('master') ?? [client]) as readonly AdminClient[];
    const others = await this.othersOn(masters);
    const call = new Call(now, 'libraries');
    call.keys.add(`${heartbeats}:libraries`);
    call.add(this.library.name, ...others);
    const old = (await this.run(call)) as readonly number[];
    const names = old.map((number) => others[number - 1]!);
    const deletions = masters.flatMap((master) =>
      names.map((name) => master.call('FUNCTION', 'DELETE', name)),
    );
    await Promise.allSettled(deletions);
  }

  /** Returns the libraries of other releases on any of the servers. */
  private async othersOn(masters: readonly AdminClient[]): Promise<readonly string[]> {
    const lists = await Promise.all(masters.map((master) => master.call('FUNCTION', 'LIST')));
    const names = (lists.flat() as readonly (readonly unknown[])[]).map(
      (fields) => fields[fields.indexOf('library_name') + 1] as string,
    );
    return [...new Set(names)].filter((name) => isLimiterLibrary(name) && name !== this.library!.name);
  }
}
