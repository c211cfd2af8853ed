import type { Clock } from '../../contracts/clock.js';
import { shown } from '../../contracts/shown.js';
import type { Bounds } from './bounded-options.js';
import { redisProblems, type RedisConnection } from './redis-option.js';

/** The options of a `RedisStore`. */
export interface RedisStoreOptions {
  /** The Redis server: a `redis://` or `rediss://` URL, ioredis options, or a client or Cluster that you own. */
  readonly redis: RedisConnection;
  /**
   * Maximum time in milliseconds that a call waits for Redis, an integer from 1.
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

/** @throws TypeError or RangeError if an option is not as allowed */
export function checkOptions(
  redis: unknown,
  functions: unknown,
  bounds: Pick<Bounds, 'timeout' | 'connectTimeout'>,
): void {
  const problems = redisProblems(redis);
  if (typeof functions !== 'boolean')
    problems.push(`functions: got ${shown(functions)}; allowed: true or false`);
  if (problems.length > 0) throw new TypeError(problems.join('\n'));
  for (const [name, value] of Object.entries(bounds)) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new RangeError(`${name}: got ${String(value)}; allowed: an integer from 1, in milliseconds`);
  }
}
