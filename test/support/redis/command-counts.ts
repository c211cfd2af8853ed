import type { Redis } from 'ioredis';

/** Calls by command, in lower case, a subcommand as `script|load`. */
export type CommandCounts = Map<string, number>;

/**
 * How often each command ran since the server started, whoever sent it, inside scripts too.
 *
 * The INFO that asks is left out. Use a server of the spec's own: others use the shared one meanwhile.
 */
export async function commandCounts(redis: Redis): Promise<CommandCounts> {
  const stats = await redis.info('commandstats');
  const lines = stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  const counts = new Map(Array.from(lines, ([, command = '', calls]) => [command, Number(calls)]));
  counts.delete('info');
  return counts;
}

/** The calls between two counts; commands that did not run are absent. */
export function addedCounts(before: CommandCounts, after: CommandCounts): CommandCounts {
  const added = [...after].map(([command, calls]) => [command, calls - (before.get(command) ?? 0)] as const);
  return new Map(added.filter(([, calls]) => calls > 0));
}

/** The calls during an action. To leave out what scripts call, use `recordCommands`. */
export async function countCommands(redis: Redis, action: () => Promise<unknown>): Promise<CommandCounts> {
  const before = await commandCounts(redis);
  await action();
  return addedCounts(before, await commandCounts(redis));
}
