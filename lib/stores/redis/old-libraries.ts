import type { StoreClient } from './connection.js';
import type { CurrentClient } from './current-client.js';
import { idleFunctionOf, isLimiterLibrary, type Library } from './library.js';

const HOUR_MS = 3_600_000;
/** How long a library is kept that no process calls, in microseconds. */
const UNUSED_FOR = 24 * 3600e6;

interface AdminClient extends StoreClient {
  call(command: string, ...args: string[]): Promise<unknown>;
}

/**
 * Deletes libraries of other releases, with any prefix, that no process has called for a day: each library counts its
 * calls, and every process sends a heartbeat every few seconds. See docs/adr/0048-idle-libraries.md.
 */
export class OldLibraries {
  private sweptAt: number;

  /**
   * @param library the library of this process; absent if it runs scripts
   * @param stopwatch a monotonic clock: milliseconds since an arbitrary instant
   */
  constructor(
    private readonly current: CurrentClient,
    private readonly library: Library | undefined,
    private readonly stopwatch: () => number,
  ) {
    this.sweptAt = stopwatch();
  }

  /**
   * Deletes old libraries, if an hour has passed. A server that does not permit it keeps them.
   *
   * @param now microseconds since the epoch; `undefined` for the server's time
   */
  async sweep(now: number | undefined): Promise<void> {
    if (!this.library || this.stopwatch() - this.sweptAt < HOUR_MS) return;
    this.sweptAt = this.stopwatch();
    const { client } = this.current;
    const masters = (client.nodes?.('master') ?? [client]) as readonly AdminClient[];
    const mastersWith = new Map<string, AdminClient[]>();
    const find = async (master: AdminClient): Promise<void> => {
      for (const name of await this.othersOn(master)) {
        mastersWith.set(name, [...(mastersWith.get(name) ?? []), master]);
      }
    };
    await Promise.all(masters.map(find));
    const swept = Array.from(mastersWith, ([name, some]) => deleteIfUnused(name, some, now));
    await Promise.allSettled(swept);
  }

  /** Returns the libraries of other releases on a server. */
  private async othersOn(master: AdminClient): Promise<readonly string[]> {
    const list = (await master.call('FUNCTION', 'LIST')) as readonly (readonly unknown[])[];
    const names = list.map((fields) => fields[fields.indexOf('library_name') + 1] as string);
    return names.filter((name) => isLimiterLibrary(name) && name !== this.library!.name);
  }
}

/** Deletes a library if no master was asked to run it for a day: a process may use only some of them. */
async function deleteIfUnused(
  name: string,
  masters: readonly AdminClient[],
  now: number | undefined,
): Promise<void> {
  const idle = masters.map((master) => master.call('FCALL', idleFunctionOf(name), '0', String(now ?? '')));
  const unused = await Promise.all(idle);
  if (!unused.every((time) => Number(time) >= UNUSED_FOR)) return;
  await Promise.all(masters.map((master) => master.call('FUNCTION', 'DELETE', name)));
}
