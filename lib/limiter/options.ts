import type { BaseStore } from '../contracts/store.js';
import type { OnStoreError } from '../rules/on-store-error.js';
import { problem, RateLimitConfigError } from '../rules/rate-limit-config.error.js';

/** The options of a `RateLimiter`. */
export interface RateLimiterOptions {
  /** The store that holds the state: a `RedisStore` or a `MemoryStore`. */
  readonly store: BaseStore;
  /**
   * Prefix of every key: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string;
  /**
   * Fallback of rules that set none: what decides when the store fails or does not reply within its timeout.
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError;
  /**
   * Minimum number of processes that share the limits while the store cannot decide: an integer from 1. Processes
   * count one another by heartbeats in the store; this number applies before the first heartbeat, and whenever the
   * count is lower.
   * @default 1
   */
  readonly instances?: number;
  /**
   * Caches denials in the process until they expire, for at most a second. Cached decisions have
   * `source: 'cache'`.
   * @default true
   */
  readonly denyCache?: boolean;
  /**
   * The store of `onStoreError: 'local'` while `store` cannot decide: a `MemoryStore`.
   * @default a `MemoryStore` with 100,000 keys
   */
  readonly fallback?: BaseStore;
  /**
   * Whether `ready()` will be called, which then sends the first heartbeat after the trial of the store.
   *
   * @internal
   * @default false
   */
  readonly becomesReady?: boolean;
}

/** The options of `Limiter`, which creates no store. */
export interface LimiterOptions extends Omit<RateLimiterOptions, 'fallback'> {
  readonly openFallback: () => BaseStore;
}

/** The check of `instances`. */
export const INSTANCES = {
  allowed: 'an integer from 1',
  accepts: (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1,
};

/** @throws RateLimitConfigError if `instances` is invalid */
export function checkInstances(instances: unknown): void {
  if (INSTANCES.accepts(instances)) return;
  throw new RateLimitConfigError([problem('instances', instances, INSTANCES.allowed)]);
}

/** Options of one request. */
export interface HitOptions {
  /**
   * Permits that this request takes: an integer from 0 to 1,000,000,000. 0 takes none.
   * @default `cost` of the rule
   */
  readonly cost?: number;
}

/** Options of `acquire`. */
export interface AcquireOptions extends HitOptions {
  /**
   * Longest wait in milliseconds, from 0. A request that would wait longer is denied at once.
   * @default no limit
   */
  readonly timeoutMs?: number;
  /** Ends the wait when it aborts. */
  readonly signal?: AbortSignal;
}

/** Options of `refund`. */
export interface RefundOptions {
  /**
   * Refunds only charges that no later charge follows.
   * @default false
   */
  readonly onlyLast?: boolean;
  /**
   * Names of the rules to refund.
   * @default all rules of the decision
   */
  readonly rules?: readonly string[];
}
