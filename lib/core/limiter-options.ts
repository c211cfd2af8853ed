import type { Store } from '../contracts/store.js';
import type { OnStoreError } from './on-store-error.js';

export interface RateLimiterOptions {
  /** Where the state lives: a `MemoryStore` or a `RedisStore`. */
  readonly store: Store;
  /**
   * What every key begins with: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string;
  /**
   * What to answer when the store fails or does not answer in time, where a rule does not say.
   * @default 'allow'
   */
  readonly onStoreError?: OnStoreError;
  /**
   * Whether what is denied is answered from this process, without asking the store, for as long as the store
   * would say the same. Such decisions have `source: 'cache'`.
   * @default true
   */
  readonly denyCache?: boolean;
  /** Counts where `onStoreError` is `'local'`: a `MemoryStore`. */
  readonly fallback?: Store;
}

/** How one hit differs from what its rule says. */
export interface HitOptions {
  /** Permits this hit takes, an integer from 0 (asks only) to 1,000,000,000; the rule's `cost` unless given. */
  readonly cost?: number;
}

/** How `acquire` waits. */
export interface AcquireOptions extends HitOptions {
  /**
   * Milliseconds to wait at the most, from 0; a longer wait is refused at once.
   * @default no limit
   */
  readonly timeoutMs?: number;
  /** Gives the place up when it aborts. */
  readonly signal?: AbortSignal;
}

/** What `refund` gives back. */
export interface RefundOptions {
  /**
   * Only what nobody has been charged behind.
   * @default false
   */
  readonly onlyLast?: boolean;
  /** The names of the rules to give back; all unless given. */
  readonly rules?: readonly string[];
}
