import { toMicroseconds } from '../contracts/clock.js';
import type { BaseStore } from '../contracts/base-store.js';
import { FLAG, FROM_ONE, matching, type OptionCheck } from '../contracts/options.js';
import type { Duration } from '../contracts/duration.js';
import { isFields } from '../contracts/fields.js';
import type { CostByRule, HitWait, RuleHit } from '../rules/compiled-rule.js';
import { PREFIX } from '../rules/keys.js';
import type { OnStoreError } from '../rules/rule.js';
import { RULE_FIELDS } from '../rules/rule-fields.js';

/** The options of a `RateLimiter`. */
export interface RateLimiterOptions {
  /** The store that holds the state: a `RedisStore` or a `MemoryStore`. */
  readonly store: BaseStore;
  /**
   * Prefix of every key: 0 to 64 printable ASCII characters without braces and spaces.
   *
   * @default 'rl:'
   */
  readonly prefix?: string;
  /**
   * Fallback of rules that set none: what decides when the store fails or does not reply within its timeout.
   *
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError;
  /**
   * Minimum number of processes that share the limits while the store cannot decide: an integer from 1. Processes
   * count one another by heartbeats in the store; this number applies before the first heartbeat, and whenever the
   * count is lower.
   *
   * @default 1
   */
  readonly instances?: number;
  /**
   * Name of the application: 1 to 100 printable ASCII characters. Processes with other names and the same prefix are
   * reported.
   *
   * @default none: no application is reported
   */
  readonly application?: string | undefined;
  /**
   * Caches denials in the process until they expire, for at most a second. Cached decisions have
   * `source: 'cache'`.
   *
   * @default true
   */
  readonly denyCache?: boolean;
  /**
   * The store of `onStoreError: 'local'` while `store` cannot decide: a `MemoryStore`.
   *
   * @default a `MemoryStore` with 100,000 keys
   */
  readonly fallback?: BaseStore;
}

/** The options of an engine, which creates no store. */
export interface EngineOptions extends RateLimiterOptions {
  readonly fallback: BaseStore;
  /** Whether `ready` will be called, which sends the first heartbeat after it has tried the store. */
  readonly awaitsReady: boolean;
}

/** Options of `acquire` and `hold`. */
export interface WaitOptions {
  /**
   * Permits that this request takes: an integer from 0 to 1,000,000,000. 0 takes none.
   *
   * @default `cost` of the rule
   */
  readonly cost?: number;
  /**
   * Longest wait: a duration up to 366 days, or `'0s'`. A request that would wait longer is denied at once.
   *
   * @default `maxWait` of the rule; without it, `acquire` has no limit, and `hold` decides at once
   */
  readonly maxWait?: Duration;
  /** Ends the wait when it aborts. */
  readonly signal?: AbortSignal;
}

/** Options of `block`: its author and reason, for the list of blocks on the operations page. */
export interface BlockOptions {
  /**
   * Name of a person or program: 1 to 256 characters.
   *
   * @default 'a program'
   */
  readonly by?: string;
  /** Up to 1,024 characters. */
  readonly reason?: string;
}

/** Options of `consume` and `peek`. */
export interface ConsumeOptions<Name extends string = string> {
  /**
   * Permits that this request takes of every rule, or permits by rule name, such as `{ tokens: 2_000 }`: integers from 0
   * to 1,000,000,000. 0 takes none.
   *
   * @default `cost` of each rule, also of a rule that is not named
   */
  readonly cost?: number | CostByRule<Name>;
}

/** Options of `reserve`. */
export interface ReserveOptions<Name extends string = string, Settled = Name> extends ConsumeOptions<Name> {
  /**
   * Name of the rule that a number concerns, in `cost` and in `settle`. A reservation of several rules needs it, or
   * `cost` by rule name.
   *
   * @default the only rule
   */
  readonly settles?: Settled;
  /**
   * Charges permits that are available only later, at most after this duration, up to 366 days: `delayMs` of the
   * reservation is the delay. Only for rules of `gcra`, `token-bucket` and `leaky-bucket`.
   *
   * @default '0s': permits that are available now
   */
  readonly maxWait?: Duration;
}

/** Options of `refund`. */
export interface RefundOptions {
  /**
   * Refunds only charges that no later charge follows.
   *
   * @default false
   */
  readonly onlyLast?: boolean;
  /**
   * Names of the rules to refund. A rule of the application that did not apply to the request is not refunded.
   *
   * @default all rules of the decision
   */
  readonly rules?: readonly string[];
}

const STORE: OptionCheck = {
  allowed: 'a RedisStore or a MemoryStore',
  accepts: (value) => isFields(value) && typeof value['decide'] === 'function',
};

/** The check of the name of an application. */
export const APPLICATION = matching(/^[\x20-\x7e]{1,100}$/, '1 to 100 printable ASCII characters');

/** The checks of the options of a `RateLimiter`. */
export const LIMITER_OPTIONS = {
  store: { ...STORE, isRequired: true },
  prefix: PREFIX,
  onStoreError: RULE_FIELDS.onStoreError,
  instances: FROM_ONE,
  application: APPLICATION,
  denyCache: FLAG,
  fallback: STORE,
} satisfies Record<keyof RateLimiterOptions, OptionCheck>;

/** The longest wait in milliseconds: longer than any queue. */
export const LONGEST_WAIT_MS = 366 * 86_400e3;

/** How long a request waits for its turn. */
export interface Wait {
  /** Milliseconds, from 0. */
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Absent if the rules cannot change. */
  readonly current?: HitWait['current'];
  /** Whether permits are charged at once, with a delay, so that only the end of a block is waited for. */
  readonly queues?: boolean;
}

/** Returns the shortest wait of some hits: all of them are taken together. */
export function waitOf(hits: readonly RuleHit[], { signal }: HitWait): Wait {
  return {
    maxWaitMs: Math.min(...hits.map(({ wait }) => wait?.maxWaitMs ?? Infinity)),
    signal: signal(),
    current: async () => (await Promise.all(hits.map(({ wait }) => wait?.current?.() ?? []))).flat(),
  };
}

/** Returns a wait in microseconds: from 1, since 0 would not wait. */
export function maxWaitOf(milliseconds: number): number {
  return Math.max(1, toMicroseconds(Math.min(milliseconds, LONGEST_WAIT_MS)));
}
