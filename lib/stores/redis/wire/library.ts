import { createHash } from 'node:crypto';
import { everyAlgorithm } from '../../../algorithms/registry.js';
import { entryOf } from '../../../contracts/entry-of.js';
import idle from '../idle.lua.js';
import { assemble, EVERY_MAIN, type ScriptName } from './script.js';
import type { StoreClient } from '../link/connection.js';
import type { CurrentClient } from '../link/current-client.js';

const PREFIX = 'nestjs_redis_rate_limit_';

const LIMITER_LIBRARY = new RegExp(`^${PREFIX}[0-9a-f]{12}$`);

/** A library of Redis functions with all algorithms and functions of the limiter, named by a hash of its text. */
export type Library = ReturnType<typeof library>;

export const WHEN_FULL = '_full';

/** Returns the function of a library of any release that reports for how long no process has called the others. */
function idleFunctionOf(name: string): string {
  return `${name}_idle`;
}

/** Returns the library of this release. */
export function library() {
  const body = assemble(EVERY_MAIN, everyAlgorithm);
  const hash = createHash('sha256').update(textOf(PREFIX, body)).digest('hex');
  const name = `${PREFIX}${hash.slice(0, 12)}`;
  const functions = EVERY_MAIN.map((main) => [main, `${name}_${main}`] as const);
  return {
    name,
    /** The argument of FUNCTION LOAD. */
    text: textOf(name, body),
    /** The name of each Redis function; that for a server that is out of memory ends with `WHEN_FULL`. */
    functions: Object.fromEntries(functions) as Readonly<Record<ScriptName, string>>,
  };
}

function textOf(name: string, body: string): string {
  return [
    `#!lua name=${name}`,
    idle.text,
    // Global names cannot be read while a library loads, so the first call defines all functions.
    'local functions',
    'local function define()',
    body,
    `return { ${EVERY_MAIN.map((main) => `${main} = ${main}, ${main}${WHEN_FULL} = when_full(${main})`).join(', ')} }`,
    'end',
    registration(idleFunctionOf(name), "'no-writes'", 'idle'),
    ...EVERY_MAIN.flatMap((main) => {
      const flags = main === 'across' ? ["'allow-cross-slot-keys'"] : [];
      return [
        registration(`${name}_${main}`, flags.join(), counted(main)),
        registration(
          `${name}_${main}${WHEN_FULL}`,
          ["'allow-oom'", ...flags].join(', '),
          counted(main + WHEN_FULL),
        ),
      ];
    }),
  ].join('\n');
}

function counted(main: string): string {
  return `function(keys, argv)\n  calls, functions = calls + 1, functions or define()\n  return functions.${main}(keys, argv)\nend`;
}

function registration(name: string, flags: string, callback: string): string {
  return `redis.register_function{ function_name = '${name}', flags = { ${flags} }, callback = ${callback} }`;
}

const HOUR_MS = 3_600_000;

/** How long a library is kept that no process calls, in microseconds. */
const UNUSED_FOR = 24 * 3600e6;

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
    const masters = client.nodes?.('master') ?? [client];
    const mastersWith = new Map<string, StoreClient[]>();
    const find = async (master: StoreClient): Promise<void> => {
      for (const name of await this.othersOn(master)) entryOf(mastersWith, name, () => []).push(master);
    };
    await Promise.all(masters.map(find));
    const swept = Array.from(mastersWith, ([name, some]) => deleteIfUnused(name, some, now));
    await Promise.allSettled(swept);
  }

  /** Returns the libraries of other releases on a server. */
  private async othersOn(master: StoreClient): Promise<readonly string[]> {
    const list = (await master.call('FUNCTION', 'LIST')) as readonly (readonly unknown[])[];
    const names = list.map((fields) => fields[fields.indexOf('library_name') + 1] as string);
    return names.filter((name) => LIMITER_LIBRARY.test(name) && name !== this.library!.name);
  }
}

/** Deletes a library if no master was asked to run it for a day: a process may use only some of them. */
async function deleteIfUnused(
  name: string,
  masters: readonly StoreClient[],
  now: number | undefined,
): Promise<void> {
  const idle = masters.map((master) => master.call('FCALL', idleFunctionOf(name), '0', String(now ?? '')));
  const unused = await Promise.all(idle);
  if (!unused.every((time) => Number(time) >= UNUSED_FOR)) return;
  await Promise.all(masters.map((master) => master.call('FUNCTION', 'DELETE', name)));
}
