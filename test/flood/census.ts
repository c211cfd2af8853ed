import type { Redis } from 'ioredis';

/** What is known of the keys of one algorithm, or of the blocks. */
export interface Kind {
  keys: number;
  /** Of all of them, as MEMORY USAGE counts. */
  bytes: number;
  /** Keys that live for ever. */
  leaked: string[];
  /** The longest time that one of them has to live. */
  longestMs: number;
}

/**
 * Looks at every key of a server but that of the heartbeats, by the last word of its name, which is its algorithm or `block`.
 *
 * @param kinds what an earlier look has found, to be added to
 */
export async function takeCensus(
  redis: Redis,
  kinds = new Map<string, Kind>(),
): Promise<ReadonlyMap<string, Kind>> {
  for await (const batch of redis.scanStream({ count: 1000 })) {
    const names = (batch as string[]).filter((name) => !name.includes('{instances}'));
    const asked = names.flatMap((name) => [
      ['pttl', name],
      ['memory', 'usage', name],
    ]);
    const answers = await redis.pipeline(asked).exec();
    names.forEach((name, index) => {
      const [lifetime, bytes] = [answers![2 * index]![1] as number, answers![2 * index + 1]![1] as number];
      count(kindOf(name, kinds), name, lifetime, bytes);
    });
  }
  return kinds;
}

function kindOf(name: string, kinds: Map<string, Kind>): Kind {
  const kind = name.slice(name.lastIndexOf(':') + 1);
  const known = kinds.get(kind) ?? { keys: 0, bytes: 0, leaked: [], longestMs: 0 };
  kinds.set(kind, known);
  return known;
}

function count(kind: Kind, name: string, lifetime: number, bytes: number | null): void {
  if (bytes === null) return; // gone meanwhile
  kind.keys += 1;
  kind.bytes += bytes;
  kind.longestMs = Math.max(kind.longestMs, lifetime);
  if (lifetime === -1) kind.leaked.push(name);
}

/** The bytes that the server has in use. */
export async function usedMemory(redis: Redis): Promise<number> {
  return numberIn(await redis.info('memory'), 'used_memory');
}

/** The scripts that the server remembers. */
export async function cachedScripts(redis: Redis): Promise<number> {
  return numberIn(await redis.info('memory'), 'number_of_cached_scripts');
}

function numberIn(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)![1]);
}
