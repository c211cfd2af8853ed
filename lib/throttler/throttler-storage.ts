import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import type { Decision, Fallback } from '../contracts/decision.js';
import { readOptions, FROM_ONE, MILLISECONDS, oneOf, type OptionCheck } from '../contracts/options.js';
import type { BaseStore } from '../contracts/base-store.js';
import { seconds } from '../http/headers.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { logStore, warnOfHeartbeats } from '../nest/checks/store-log.js';
import { RateLimitUnavailableException } from '../nest/rate-limit.exception.js';
import { MEANWHILE } from '../nest/rules/rule-fallbacks.js';
import { applicationName, openStore } from '../nest/startup/create-store.js';
import { Warnings } from '../nest/warnings.js';
import { ThrottlerRuleCache, THROTTLER_ALGORITHMS, type ThrottlerAlgorithm } from './throttler-rules.js';
import { LIMITER_OPTIONS } from '../limiter/rate-limiter.options.js';
import type { OnStoreError } from '../rules/rule.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { REDIS, type RedisConnection } from '../stores/redis/redis-option.js';

/** The options of a `RateLimitThrottlerStorage`. */
interface RateLimitThrottlerStorageOptions {
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
  /**
   * Maximum number of keys in the memory of each process, without `redis` or while it fails: an integer from 1.
   * @default 100_000
   */
  readonly maxKeys?: number | undefined;
}

/** What a `RateLimitThrottlerStorage` may be given. */
const THROTTLER_STORAGE_OPTIONS = {
  redis: REDIS,
  store: LIMITER_OPTIONS.fallback,
  algorithm: oneOf(...THROTTLER_ALGORITHMS),
  prefix: LIMITER_OPTIONS.prefix,
  application: LIMITER_OPTIONS.application,
  onStoreError: LIMITER_OPTIONS.onStoreError,
  instances: FROM_ONE,
  timeout: MILLISECONDS,
  maxKeys: FROM_ONE,
} satisfies Record<keyof RateLimitThrottlerStorageOptions, OptionCheck>;

/** The result for one request, as `@nestjs/throttler` expects it from its storage. Times are in seconds, rounded up. */
export interface ThrottlerRecord {
  /** Requests in the window, including this one; `limit + 1` if it is denied. */
  totalHits: number;
  /** Seconds until the window that started with the first request ends. */
  timeToExpire: number;
  /** Whether the request is denied. */
  isBlocked: boolean;
  /** Seconds until a denied client is allowed again; 0 for a request that is allowed. */
  timeToBlockExpire: number;
}

/**
 * A storage for `@nestjs/throttler` 6 that counts exactly, in one call to Redis, with a fallback while Redis is down.
 * Decorators and options of `@nestjs/throttler` stay unchanged.
 *
 * Applications of a process may share a storage, at the same time or in turn: the last to close closes its connection, and the
 * next one opens it again. A store that is passed as `store` is also closed with the last application.
 *
 * @example
 * ThrottlerModule.forRoot({
 *   throttlers: [{ ttl: 60_000, limit: 100 }],
 *   storage: new RateLimitThrottlerStorage({ redis: process.env.REDIS_URL }),
 * });
 */
export class RateLimitThrottlerStorage implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly options: RateLimitThrottlerStorageOptions;
  private readonly rules: ThrottlerRuleCache;
  private opening: Promise<{ readonly store: BaseStore; readonly limiter: RateLimiter }> | undefined;
  /** Applications that have started with this storage, and run. */
  private applications = 0;

  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RateLimitThrottlerStorageOptions = {}) {
    this.options = readOptions('RateLimitThrottlerStorage', options, THROTTLER_STORAGE_OPTIONS);
    this.rules = new ThrottlerRuleCache(this.options.algorithm ?? 'sliding-window-log');
  }

  /**
   * Counts one request. Throttler's guard calls it.
   *
   * @param key the subject, as `generateKey` returns it
   * @param ttl milliseconds above 0, up to 366 days
   * @param limit requests per `ttl`, from 0; a fraction is rounded down, and above 1,000,000,000 counts as that
   * @param blockDuration milliseconds, up to 366 days; 0 is no block: a request is allowed when the window has room
   * @param throttlerName name of the throttler
   * @throws RateLimitConfigError if a number or the name is invalid
   * @throws RateLimitUnavailableException if Redis cannot decide and `onStoreError` is `'deny'`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const { limiter } = await this.open();
    const rules = this.rules.of(throttlerName, ttl, limit, blockDuration);
    const decision = await limiter.consume(rules.all, key);
    if (decision.fallback === 'deny') throw new RateLimitUnavailableException(decision);
    // A first denial starts the block, which then ends before the counted requests would expire.
    const startsBlock = rules.forgets && (decision.retryAfterMs ?? 0) >= blockDuration;
    if (startsBlock && !decision.allowed) await limiter.reset(rules.counter, key).catch(() => false);
    return recordOf(decision, ttl, rules.limit, blockDuration);
  }

  /** @internal */
  async onApplicationBootstrap(): Promise<void> {
    this.applications += 1;
    const { limiter } = await this.open();
    await limiter.ready();
  }

  /** @internal */
  async onApplicationShutdown(): Promise<void> {
    // An application whose start failed is closed without having been counted.
    this.applications = Math.max(0, this.applications - 1);
    const { opening } = this;
    if (!opening || this.applications > 0) return;
    this.opening = undefined;
    const { limiter, store } = await opening;
    await limiter.close();
    await store.close();
  }

  private open(): NonNullable<typeof this.opening> {
    return (this.opening ??= this.load());
  }

  private async load(): ReturnType<typeof this.open> {
    const { prefix = 'throttler:', application = applicationName(), ...others } = this.options;
    const { onStoreError = 'local', instances = 1, maxKeys = 100_000 } = others;
    const warnings = new Warnings({});
    const store = await openStore(others, warnings);
    await import('../limiter/every-part.js'); // The constructor of a limiter is synchronous.
    const fallback = new MemoryStore({ maxKeys });
    const limiter = new RateLimiter({ store, prefix, application, onStoreError, instances, fallback });
    warnOfHeartbeats(store.shared, { application, prefix }, warnings);
    logStore(store.shared, limiter, () => MEANWHILE[onStoreError satisfies Fallback], warnings);
    return { store, limiter };
  }
}

function recordOf(decision: Decision, ttl: number, limit: number, block: number): ThrottlerRecord {
  const [counter, window = counter] = decision.decisions;
  const { remaining, retryAfterMs, fallback } = counter!;
  if (fallback === 'allow') {
    return { totalHits: 0, timeToExpire: seconds(ttl), isBlocked: false, timeToBlockExpire: 0 };
  }
  // A denied request starts no window; in throttler's own storage, it would.
  const timeToExpire = seconds(window!.resetAfterMs || ttl);
  if (decision.allowed)
    return { totalHits: limit - remaining, timeToExpire, isBlocked: false, timeToBlockExpire: 0 };
  const timeToBlockExpire = seconds(
    block > 0 ? Math.min(retryAfterMs ?? block, block) : (retryAfterMs ?? ttl),
  );
  return { totalHits: limit + 1, timeToExpire, isBlocked: true, timeToBlockExpire };
}
