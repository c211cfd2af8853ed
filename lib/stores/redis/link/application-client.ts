import { Redis } from 'ioredis';
import { boundedUrl } from './bounded-options.js';
import { Deadline } from './deadline.js';
import { isUserClient, type RedisConnection } from '../redis-option.js';
import type { RedisStore } from '../redis.store.js';
import { clusterOf } from './topology.js';

/** A client for the commands of the application, apart from the connections of the store. */
export interface ApplicationClient {
  readonly client: object;
  /** Closes the client, unless it is the user's. */
  close(): Promise<void>;
}

/** Milliseconds that pending commands have to finish before their connection is closed. */
const QUIT_MS = 1000;

/**
 * Returns the user's client, or creates one, which connects with its first command.
 *
 * @param store one that has been connected
 */
export function applicationClient(
  redis: RedisConnection,
  { isCluster, hidesInfo }: Partial<RedisStore>,
): ApplicationClient {
  if (typeof redis !== 'string' && isUserClient(redis))
    return { client: redis, close: async () => undefined };
  const own = { lazyConnect: true, ...(hidesInfo && { enableReadyCheck: false }) };
  const single =
    typeof redis === 'string'
      ? new Redis(boundedUrl(redis, own), own)
      : new Redis({ ...redis, ...own } as object);
  const client = isCluster ? (clusterOf(single) as Redis) : single;
  client.on('error', () => undefined); // The store reports that there is no connection, and commands reject.
  return { client, close: () => quit(client) };
}

async function quit(client: Redis): Promise<void> {
  if (client.status === 'wait') client.disconnect();
  if (client.status === 'end' || client.status === 'close') return;
  await new Deadline(QUIT_MS).within(client.quit()).catch(() => client.disconnect());
}
