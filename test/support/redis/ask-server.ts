import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.mjs';
import { until } from './until.mjs';

/** A connection to look after a server with: over its Unix socket, where it asks for no certificate. */
export function openAdmin({ folder, url }: RedisServer): Redis {
  const password = decodeURIComponent(new URL(url).password);
  const redis = new Redis({
    path: join(folder, 'redis.sock'),
    ...(password && { password }),
    enableReadyCheck: false, // It answers while it loads, or is cut off from its cluster.
    retryStrategy: () => null,
    commandTimeout: 5000,
  });
  redis.on('error', () => undefined); // The command tells.
  return redis;
}

/**
 * A server's answer to one command, over a connection of its own.
 *
 * @throws when the server is down or does not answer within 5 s
 */
export async function askServer(server: RedisServer, command: string, ...args: string[]): Promise<unknown> {
  const redis = openAdmin(server);
  try {
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

/** The fields of INFO or CLUSTER INFO by their names. */
export async function askInfo(
  server: RedisServer,
  ...command: [string, ...string[]]
): Promise<Map<string, string>> {
  const lines = String(await askServer(server, ...command)).matchAll(/^([^:#\r\n]+):(.*?)\r?$/gm);
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}

/** Waits until a replica has its master's data and gets what is written from now on. */
export async function untilInSync(replica: RedisServer): Promise<void> {
  const isInSync = async () =>
    (await askInfo(replica, 'INFO', 'replication')).get('master_link_status') === 'up';
  await until(isInSync, `the replica on port ${replica.port} to be in sync`);
}
