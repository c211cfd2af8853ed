import { Logger } from '@nestjs/common';
import { shown } from '../../contracts/shown.js';
import type { BaseStore } from '../../contracts/store.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { openRedisStore } from '../../stores/redis/open-redis-store.js';
import { UnlimitedStore } from '../../stores/unlimited/unlimited.store.js';
import { warnOfFullMemory } from '../checks/full-memory.js';
import { logForms, warnOfRefusals } from '../checks/store-log.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { readModuleOptions } from '../rules/check-options.js';
import type { RuleBook } from '../rules/rule-book.js';
import type { Warnings } from '../warnings.js';

const logger = new Logger('RateLimit');

/**
 * Creates the store of the options. For invalid options it creates an arbitrary store, because the
 * application will not start.
 */
export async function createStore(
  book: RuleBook,
  options: RateLimitModuleOptions,
  warnings: Warnings,
): Promise<BaseStore> {
  if (book.problems.size > 0) return new MemoryStore();
  if (process.env.RATE_LIMIT === 'off') {
    warnings.warn('RL_OFF', 'RATE_LIMIT=off is set: every request is allowed and none is counted');
    return new UnlimitedStore();
  }
  if (process.env.RATE_LIMIT !== undefined) {
    warnings.warn(
      'RL_UNREAD_VARIABLES',
      `RATE_LIMIT=${shown(process.env.RATE_LIMIT)} has no effect, and every limit is enforced. Write RATE_LIMIT=off, or ` +
        'remove the variable.',
      'RATE_LIMIT',
    );
  }
  const { redis, timeout = 50, functions = true, maxKeys = 100_000 } = readModuleOptions(options);
  if (redis) {
    const store = await openRedisStore({ redis, timeout, functions });
    logForms(store);
    warnOfRefusals(store, (message) => warnings.warn('RL_CHANGES_UNREPORTED', message));
    return store;
  }
  if (process.env['NODE_ENV'] === 'production' && 'redis' in options) {
    warnings.warn(
      'RL_REDIS_UNSET',
      '`redis` is undefined in production, so this process counts in its memory: n processes allow n times each ' +
        'limit, and a restart clears the counters. Set the variable that `redis` is read from, or leave `redis` out ' +
        'of the options.',
    );
  } else {
    logger.log(
      'No `redis` given: counting in the memory of this process. Each process counts separately, and a restart clears the counters.',
    );
  }
  const store = new MemoryStore({ maxKeys });
  warnOfFullMemory(store, 'all', warnings);
  return store;
}
