import type { ApplicationClient } from './link/application-client.js';
import type { ProcessRecords } from './link/process-records.js';
import type { RedisConnection } from './redis-option.js';
import type { RedisStore } from './redis.store.js';
import type { RedisStoreOptions } from './redis.store.options.js';

/**
 * Opens a `RedisStore`. Loads its code and ioredis only now, so that an application that counts in memory does not need
 * ioredis.
 *
 * @throws Error if ioredis is not installed
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const { RedisStore } = await import('./redis.store.js').catch(explain);
  return RedisStore.open(options);
}

/**
 * Opens a client for the commands of the application, as {@link openRedisStore} opens a store.
 *
 * @throws Error if ioredis is not installed
 */
export async function openApplicationClient(
  redis: RedisConnection,
  store: Partial<RedisStore>,
): Promise<ApplicationClient> {
  const { applicationClient } = await import('./link/application-client.js').catch(explain);
  return applicationClient(redis, store);
}

/**
 * Opens the records of processes, as {@link openRedisStore} opens a store.
 *
 * @param id the name of this process
 * @throws Error if ioredis is not installed
 */
export async function openProcessRecords(
  redis: RedisConnection,
  key: string,
  id: string,
): Promise<ProcessRecords> {
  const [{ Control }, { ProcessRecords }] = await Promise.all([
    import('./link/control.js').catch(explain),
    import('./link/process-records.js'),
  ]);
  return new ProcessRecords(new Control(redis), key, id);
}

function explain(error: Error): never {
  const isMissing = /^Cannot find (package|module) 'ioredis'/.test(error.message);
  if (!isMissing) throw error;
  throw new Error('`redis` is set, but ioredis is not installed; run: npm install ioredis', { cause: error });
}
