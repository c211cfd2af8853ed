import type { BaseStore } from '../../contracts/store.js';
import type { ApplicationClient } from '../../stores/redis/application-client.js';
import { openApplicationClient } from '../../stores/redis/open-redis-store.js';
import type { RedisStore } from '../../stores/redis/redis.store.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { readModuleOptions } from '../rules/check-options.js';
import type { RuleBook } from '../rules/rule-book.js';

/** The value of `RATE_LIMIT_REDIS`, and how the module closes it. */
export interface ClientHolder extends Omit<ApplicationClient, 'client'> {
  readonly client: object | null;
}

const NONE: ClientHolder = { client: null, close: () => Promise.resolve() };

/**
 * Creates the client of `RATE_LIMIT_REDIS`, or takes the user's.
 *
 * @param store has been connected, so that it knows whether the server is a Redis Cluster, and whether it has INFO
 */
export async function createClient(
  store: BaseStore,
  book: RuleBook,
  options: RateLimitModuleOptions,
): Promise<ClientHolder> {
  if (book.problems.size > 0) return NONE;
  const { redis } = readModuleOptions(options);
  return redis ? openApplicationClient(redis, store as Partial<RedisStore>) : NONE;
}
