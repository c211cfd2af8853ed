import type { Redis } from 'ioredis';

/** Figures about the keys of one algorithm, or about the blocks. */
export interface Kind {
  keys: number;
  /** The total size, as returned by MEMORY USAGE. */
  bytes: number;
  /** Keys without an expiry. */
  leaked: string[];
  /** The longest remaining time to live of these keys. */
  longestMs: number;
}

/**
 * Reads every key of a server except those of the heartbeats. Keys are grouped by the last part of their name, which
 * is the algorithm, with its version and its window, or `block` or `denied`.
 *
 * @param kinds the figures of an earlier call, to which these are added
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
  const kind = name.slice(name.lastIndexOf(':') + 1).replace(/\d+(\/.*)?$/, '');
  const known = kinds.get(kind) ?? { keys: 0, bytes: 0, leaked: [], longestMs: 0 };
  kinds.set(kind, known);
  return known;
}

function count(kind: Kind, name: string, lifetime: number, bytes: number | null): void {
  if (bytes === null) return; // Expired meanwhile.
  kind.keys += 1;
  kind.bytes += bytes;
  kind.longestMs = Math.max(kind.longestMs, lifetime);
  if (lifetime === -1) kind.leaked.push(name);
}

/** Returns the bytes that the server uses. */
export async function usedMemory(redis: Redis): Promise<number> {
  return numberIn(await redis.info('memory'), 'used_memory');
}

/** Returns the number of scripts that the server has cached. */
export async function cachedScripts(redis: Redis): Promise<number> {
  return numberIn(await redis.info('memory'), 'number_of_cached_scripts');
}

function numberIn(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)![1]);
}
