import { FROM_ONE, MILLISECONDS, type OptionCheck } from '../contracts/options.js';
import type { BaseStore } from '../contracts/base-store.js';
import { LIMITER_OPTIONS } from '../limiter/rate-limiter.options.js';
import { oneOf } from '../rules/rule-fields.js';
import type { OnStoreError } from '../rules/rule.js';
import { REDIS, type RedisConnection } from '../stores/redis/redis-option.js';
import { THROTTLER_ALGORITHMS, type ThrottlerAlgorithm } from './throttler-rules.js';

/** The options of a `RateLimitThrottlerStorage`. */
export interface RateLimitThrottlerStorageOptions {
  /**
   * The Redis server: a URL, ioredis options, or an ioredis client or Cluster that you own.
   * @default the memory of each process
   */
  readonly redis?: RedisConnection | undefined;
  /** A store of your own in place of `redis`, such as a `MemoryStore` with the clock of a test. */
  readonly store?: BaseStore | undefined;
  /**
   * Algorithm of all throttlers. The others store less than the log, which has an entry for each request.
   * @default 'sliding-window-log', as in throttler's own storage
   */
  readonly algorithm?: ThrottlerAlgorithm | undefined;
  /**
   * Prefix of every key: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'throttler:'
   */
  readonly prefix?: string | undefined;
  /**
   * Name of the application: 1 to 100 printable ASCII characters. Processes with another name and the same `prefix` in
   * one Redis are reported (RL_PREFIX_SHARED).
   * @default the name in the nearest package.json of the main file, or of the working directory
   */
  readonly application?: string | undefined;
  /**
   * What decides when Redis fails or does not reply within `timeout`: `'local'` counts in the memory of each process,
   * with its share of the limit; `'allow'` allows every request; `'deny'` responds with 503.
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Minimum number of processes that share the limits while Redis cannot decide: an integer from 1.
   * @default 1
   */
  readonly instances?: number | undefined;
  /**
   * Maximum time in milliseconds that a request waits for Redis, an integer from 1.
   * @default 50
   */
  readonly timeout?: number | undefined;
}

/** What a `RateLimitThrottlerStorage` may be given. */
export const THROTTLER_STORAGE_OPTIONS = {
  redis: REDIS,
  store: LIMITER_OPTIONS.fallback,
  algorithm: oneOf(...THROTTLER_ALGORITHMS),
  prefix: LIMITER_OPTIONS.prefix,
  application: LIMITER_OPTIONS.application,
  onStoreError: LIMITER_OPTIONS.onStoreError,
  instances: FROM_ONE,
  timeout: MILLISECONDS,
} satisfies Record<keyof RateLimitThrottlerStorageOptions, OptionCheck>;
