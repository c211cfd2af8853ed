import { createHash } from 'node:crypto';
import { everyAlgorithm } from '../../../algorithms/registry.js';
import idle from '../idle.lua.js';
import { assemble, EVERY_MAIN, type Main } from './script.js';
import type { StoreClient } from '../link/connection.js';
import type { CurrentClient } from '../link/current-client.js';

const PREFIX = 'nestjs_redis_rate_limit_';

const LIMITER_LIBRARY = new RegExp(`^${PREFIX}[0-9a-f]{12}$`);

/** A library of Redis functions with all algorithms and functions of the limiter, named by a hash of its text. */
export interface Library {
  readonly name: string;
  /** The argument of FUNCTION LOAD. */
  readonly text: string;
  /** The name of each Redis function. */
  readonly functions: Readonly<Record<Main, string>>;
  /** The names of the same functions for a server that is out of memory. */
  readonly functionsWhenFull: Readonly<Record<Main, string>>;
}

let known: Library | undefined;

/** Returns the library of this release. */
export function library(): Library {
  return (known ??= assembleLibrary());
}

/** Whether a library belongs to any release of this package. */
function isLimiterLibrary(name: string): boolean {
  return LIMITER_LIBRARY.test(name);
}

/** Returns the function of a library of any release that reports for how long no process has called the others. */
function idleFunctionOf(name: string): string {
  return `${name}_idle`;
}

function assembleLibrary(): Library {
  const body = assemble(EVERY_MAIN, everyAlgorithm);
  const hash = createHash('sha256').update(textOf(PREFIX, body)).digest('hex');
  const name = `${PREFIX}${hash.slice(0, 12)}`;
  return {
    name,
    text: textOf(name, body),
    functions: functionsOf(name),
    functionsWhenFull: functionsOf(name, true),
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
    `return { ${EVERY_MAIN.map((main) => `${main} = ${main}, ${main}_full = when_full(${main})`).join(', ')} }`,
    'end',
    registration(idleFunctionOf(name), "'no-writes'", 'idle'),
    ...EVERY_MAIN.flatMap((main) => [
      registration(functionOf(name, main), '', counted(main)),
      registration(functionOf(name, main, true), "'allow-oom'", counted(`${main}_full`)),
    ]),
  ].join('\n');
}

function functionsOf(name: string, isFull?: boolean): Record<Main, string> {
  const names = EVERY_MAIN.map((main) => [main, functionOf(name, main, isFull)] as const);
  return Object.fromEntries(names) as Record<Main, string>;
}

function functionOf(name: string, main: Main, isFull = false): string {
  return `${name}_${main}${isFull ? '_full' : ''}`;
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
