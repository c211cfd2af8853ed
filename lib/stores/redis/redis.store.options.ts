import type { Clock } from '../../contracts/clock.js';
import { CLOCK, FLAG, MILLISECONDS, type OptionCheck } from '../../contracts/options.js';
import { REDIS, type RedisConnection } from './redis-option.js';

/** Why scripts run if the application has chosen them. */
export const FUNCTIONS_OFF = '`functions: false`';

/** The options of a `RedisStore`. */
export interface RedisStoreOptions {
  /** The Redis server: a `redis://` or `rediss://` URL, ioredis options, or a client or Cluster that you own. */
  readonly redis: RedisConnection;
  /**
   * Maximum time in milliseconds from a call to its reply, an integer from 1. Under load, a call first waits in a queue.
   * @default 50
   */
  readonly timeout?: number;
  /**
   * Maximum time in milliseconds that the first calls wait for the first connection, an integer from 1.
   * @default 1000
   */
  readonly connectTimeout?: number;
  /**
   * Runs the limiter's Lua as Redis functions where the server has them (Redis 7, Valkey) and permits them, and as
   * scripts elsewhere. `false`: as scripts on every server.
   * @default true
   */
  readonly functions?: boolean;
  /**
   * Clock for tests that replay a timeline.
   * @default the time of the Redis server
   */
  readonly clock?: Clock;
}

/** What a `RedisStore` may be given. */
export const REDIS_STORE_OPTIONS = {
  redis: { ...REDIS, isRequired: true },
  timeout: MILLISECONDS,
  connectTimeout: MILLISECONDS,
  functions: FLAG,
  clock: CLOCK,
} satisfies Record<keyof RedisStoreOptions, OptionCheck>;
