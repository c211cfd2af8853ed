import type { Clock } from '../../contracts/clock.js';
import type { Bounds } from './bounded-options.js';
import { redisProblems, type RedisConnection } from './redis-option.js';

export interface RedisStoreOptions {
  /** A `redis://` or `rediss://` URL, ioredis options, or a client or Cluster you own (it is duplicated). */
  readonly redis: RedisConnection;
  /**
   * Milliseconds after which an unanswered command is given up, an integer from 1.
   * @default 50
   */
  readonly timeout?: number;
  /**
   * Milliseconds for which the first calls wait for the first connection, an integer from 1.
   * @default 1000
   */
  readonly connectTimeout?: number;
  /**
   * Tells the time in milliseconds since the epoch, so that a timeline can be replayed in tests.
   * @default the Redis server's own time
   */
  readonly clock?: Clock;
}

/** @throws TypeError or RangeError if an option is not as allowed */
export function checkOptions(redis: unknown, bounds: Pick<Bounds, 'timeout' | 'connectTimeout'>): void {
  const problems = redisProblems(redis);
  if (problems.length > 0) throw new TypeError(problems.join('\n'));
  for (const [name, value] of Object.entries(bounds)) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new RangeError(`${name}: got ${String(value)}; allowed: an integer from 1, in milliseconds`);
  }
}
