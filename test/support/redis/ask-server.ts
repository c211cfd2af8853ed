import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.mjs';
import { until } from './until.mjs';

/** A connection to inspect a server: over its Unix socket, which requires no certificate. */
export function openAdmin({ folder, url }: RedisServer): Redis {
  const password = decodeURIComponent(new URL(url).password);
  const redis = new Redis({
    path: join(folder, 'redis.sock'),
    ...(password && { password }),
    enableReadyCheck: false, // The server replies while it loads, or while it is disconnected from its cluster.
    retryStrategy: () => null,
    commandTimeout: 5000,
  });
  redis.on('error', () => undefined); // The error of the command contains the reason.
  return redis;
}

/**
 * Returns the reply of a server to one command, over a separate connection.
 *
 * @throws if the server is down or does not reply within 5 s
 */
export async function askServer(server: RedisServer, command: string, ...args: string[]): Promise<unknown> {
  const redis = openAdmin(server);
  try {
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}

/** The fields of INFO or CLUSTER INFO by name. */
export async function askInfo(
  server: RedisServer,
  ...command: [string, ...string[]]
): Promise<Map<string, string>> {
  const lines = String(await askServer(server, ...command)).matchAll(/^([^:#\r\n]+):(.*?)\r?$/gm);
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}

/** Waits until a replica has its master's data and receives further writes. */
export async function untilInSync(replica: RedisServer): Promise<void> {
  const isInSync = async () =>
    (await askInfo(replica, 'INFO', 'replication')).get('master_link_status') === 'up';
  await until(isInSync, `the replica on port ${replica.port} to be in sync`);
}
