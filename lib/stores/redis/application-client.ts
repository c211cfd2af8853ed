import { Redis } from 'ioredis';
import { boundedUrl } from './bounded-options.js';
import { Deadline } from './deadline.js';
import { isUserClient, type RedisConnection } from './redis-option.js';
import { clusterOf } from './topology.js';

/** A client for the commands of the application, apart from the connections of the store. */
export interface ApplicationClient {
  readonly client: object;
  /** Closes the client, unless it is the user's. */
  close(): Promise<void>;
}

/** Milliseconds that pending commands have to finish before their connection is closed. */
const QUIT_MS = 1000;

const LAZY = { lazyConnect: true };

/**
 * Returns the user's client, or creates one, which connects with its first command.
 *
 * @param isCluster whether the server is a node of a Redis Cluster
 */
export function applicationClient(redis: RedisConnection, isCluster: boolean): ApplicationClient {
  if (typeof redis !== 'string' && isUserClient(redis))
    return { client: redis, close: async () => undefined };
  const single =
    typeof redis === 'string'
      ? new Redis(boundedUrl(redis, LAZY), LAZY)
      : new Redis({ ...redis, ...LAZY } as object);
  const client = isCluster ? (clusterOf(single) as Redis) : single;
  client.on('error', () => undefined); // The store reports that there is no connection, and commands reject.
  return { client, close: () => quit(client) };
}

async function quit(client: Redis): Promise<void> {
  if (client.status === 'wait') client.disconnect();
  if (client.status === 'end' || client.status === 'close') return;
  await new Deadline(QUIT_MS).within(client.quit()).catch(() => client.disconnect());
}
