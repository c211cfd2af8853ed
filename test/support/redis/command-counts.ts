import type { Redis } from 'ioredis';

/** Number of calls by command in lower case; a subcommand as `script|load`. */
export type CommandCounts = Map<string, number>;

/**
 * Returns how often each command ran since the start of the server, by any client, including those in scripts,
 * without this INFO. Use a separate server, because other specs use the shared one meanwhile.
 */
export async function commandCounts(redis: Redis): Promise<CommandCounts> {
  const stats = await redis.info('commandstats');
  const lines = stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  const counts = new Map(Array.from(lines, ([, command = '', calls]) => [command, Number(calls)]));
  counts.delete('info');
  return counts;
}

/** Returns the calls between two counts; commands that did not run are absent. */
export function addedCounts(before: CommandCounts, after: CommandCounts): CommandCounts {
  const added = [...after].map(([command, calls]) => [command, calls - (before.get(command) ?? 0)] as const);
  return new Map(added.filter(([, calls]) => calls > 0));
}

/** Returns the calls during an action. `recordCommands` leaves out those of scripts. */
export async function countCommands(redis: Redis, action: () => Promise<unknown>): Promise<CommandCounts> {
  const before = await commandCounts(redis);
  await action();
  return addedCounts(before, await commandCounts(redis));
}
