import type { Store } from '../contracts/store.js';
import type { OnStoreError } from './on-store-error.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';

export interface RateLimiterOptions {
  /** Where the state lives: a `MemoryStore` or a `RedisStore`. */
  readonly store: Store;
  /**
   * The start of every key: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string;
  /**
   * The fallback of rules that do not state one: what decides when the store fails or does not answer in time.
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError;
  /**
   * The least number of processes that share the limits, an integer from 1. With `'local'` each counts with its
   * share. The processes count one another by heartbeats in the store; until the first, and whenever the count
   * is lower, this number applies.
   * @default 1
   */
  readonly instances?: number;
  /**
   * Caches denials in the process until they expire, at most a second. Such decisions have `source: 'cache'`.
   * @default true
   */
  readonly denyCache?: boolean;
  /**
   * The store that counts for `onStoreError: 'local'` while `store` cannot decide: a `MemoryStore`.
   * @default a `MemoryStore` of 100,000 keys, created when it is first needed
   */
  readonly fallback?: Store;
}

/** The options of the core, which creates no store. */
export interface LimiterOptions extends Omit<RateLimiterOptions, 'fallback'> {
  readonly openFallback: () => Store;
}

/** What `instances` may be. */
export const INSTANCES = {
  allowed: 'an integer from 1',
  accepts: (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 1,
};

/** @throws RateLimitConfigError if the number of processes is not one */
export function checkInstances(instances: unknown): void {
  if (INSTANCES.accepts(instances)) return;
  throw new RateLimitConfigError([problem('instances', instances, INSTANCES.allowed)]);
}

/** What one hit overrides of its rule. */
export interface HitOptions {
  /** Permits that this hit takes, an integer from 0 (takes none) to 1,000,000,000; the rule's `cost` unless given. */
  readonly cost?: number;
}

/** How `acquire` waits. */
export interface AcquireOptions extends HitOptions {
  /**
   * The longest wait in milliseconds, from 0. A hit that would wait longer is denied at once.
   * @default no limit
   */
  readonly timeoutMs?: number;
  /** Ends the wait and frees its turn when it aborts. */
  readonly signal?: AbortSignal;
}

/** What `refund` refunds. */
export interface RefundOptions {
  /**
   * Refund only charges that no later charge follows.
   * @default false
   */
  readonly onlyLast?: boolean;
  /** The names of the rules to refund; all unless given. */
  readonly rules?: readonly string[];
}
