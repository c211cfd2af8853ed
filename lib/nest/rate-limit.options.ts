import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { OnStoreError } from '../rules/rule.js';
import type { HeaderStyle } from '../http/headers.js';
import type { RuleSource } from '../contracts/rule-source.js';
import type { RedisConnection } from '../stores/redis/redis-option.js';
import type { RuleOverrides } from './rules/overrides.js';
import type { NamedRule, TransportName } from './rules/route-rule.js';
import type { WarningsOption } from './warning-codes.js';

/** The options of `RateLimitModule.forRoot`, and the result of the factory in `forRootAsync`. */
export interface RateLimitModuleOptions {
  /**
   * The Redis server: a URL, ioredis options, or an ioredis client or Cluster that you own. An empty string is
   * an error.
   * @default the memory of each process
   */
  readonly redis?: RedisConnection | undefined;
  /** Rules by name that apply to every handler of the transports in `transports`. */
  readonly rules?: Readonly<Record<string, NamedRule>> | undefined;
  /**
   * Rules by name that apply only where a decorator names them (`@RateLimit('login')`) or a program does
   * (`limits.consume('mail', tenant)`). Their `scope` is `'shared'` unless they set it.
   */
  readonly onDemand?: Readonly<Record<string, NamedRule>> | undefined;
  /** Fields by rule name, applied last, over decorators: for values from ConfigService. */
  readonly overrides?: RuleOverrides | undefined;
  /**
   * Source of rules that change while the application runs: a `RedisRuleSource`, `FileRuleSource` or `MemoryRuleSource`,
   * or your own. Its fields are applied last, over `overrides`. The module closes it with the application.
   * @default none: rules change with a deploy
   */
  readonly liveRules?: RuleSource | undefined;
  /** Fields for every rule that does not set them. */
  readonly defaults?: NamedRule | undefined;
  /**
   * Response header format: one of the drafts, `'legacy'`, `'throttler'`, or a list of a draft and one of the
   * others. `false` sends only `Retry-After`, which is sent in every format.
   * @default 'draft-10'
   */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
  /**
   * Name of a response header with the id of a denial, such as `'x-denial-id'`, for bodies that do not have it. Problem
   * details have the id as `instance`.
   * @default none
   */
  readonly denialIdHeader?: string | undefined;
  /**
   * Returns the body of a 429, synchronously or asynchronously. If it fails, the error is logged and the default
   * body is sent. `'nest'`: `{ statusCode, message, error }` as in Nest's own exceptions, also for a 503. In the
   * context of an exception that the application throws where no rule applies, `getClass` and `getHandler` return
   * nothing.
   * @default RFC 9457 problem details
   */
  readonly body?: 'nest' | BodyFunction | undefined;
  /**
   * Transports whose handlers all have the module's `rules`. In the others, only rules that a decorator names apply:
   * `'rpc'` is microservices, `'other'` is contexts of libraries, such as queue consumers.
   * @default ['http', 'graphql', 'ws']
   */
  readonly transports?: readonly TransportName[] | undefined;
  /**
   * What happens to a denied event of a microservice (`@EventPattern`), whose sender waits for no reply: `'drop'`
   * ignores it; `'throw'` throws an error, so that a transport that delivers failed events again does so. Either is
   * logged once for each handler.
   * @default 'drop'
   */
  readonly onDeniedEvent?: 'drop' | 'throw' | undefined;
  /**
   * Prefix of every key: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string | undefined;
  /**
   * Name of the application: 1 to 100 printable ASCII characters. Processes with another name and the same `prefix` in
   * one Redis are reported (RL_PREFIX_SHARED).
   * @default the name in the nearest package.json of the main file, or of the working directory
   */
  readonly application?: string | undefined;
  /**
   * Fallback of rules that set none: what decides when Redis fails or does not reply within `timeout`.
   * `'local'` counts in the memory of each process, with its share of the limit; `'allow'` allows every request;
   * `'deny'` responds with 503.
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Status that `RateLimitHealth` reports while the fallback decides: `'down'` with `fallbackIsDown: true`,
   * otherwise `'up'`.
   * @default `{ fallbackIsDown: false }`; with `onStoreError: 'deny'`, `{ fallbackIsDown: true }`
   */
  readonly health?: { readonly fallbackIsDown?: boolean | undefined } | undefined;
  /**
   * Minimum number of processes that share the limits while Redis cannot decide: an integer from 1. Processes
   * count one another by heartbeats in Redis; this number applies before the first heartbeat, and whenever the
   * count is lower.
   * @default 1
   */
  readonly instances?: number | undefined;
  /**
   * Caches denials in the process until they expire, for at most a second. Cached decisions have
   * `source: 'cache'`.
   * @default true
   */
  readonly denyCache?: boolean | undefined;
  /**
   * Maximum time in milliseconds from a call to Redis to its reply, an integer from 1. Then the fallback decides. Under
   * load, a call first waits in a queue.
   * @default 50
   */
  readonly timeout?: number | undefined;
  /**
   * Runs the limiter's Lua as Redis functions where the server has them (Redis 7, Valkey) and permits them, and as
   * scripts elsewhere, which takes Redis longer. The log states which. `false`: as scripts on every server.
   * @default true
   */
  readonly functions?: boolean | undefined;
  /**
   * Maximum number of keys in the memory store, an integer from 1. Beyond it, the least recently used keys are
   * deleted. A key counts by its size, as one for each 250 to 750 bytes of heap: a log of 1,000 requests counts
   * as 63.
   * @default 100_000
   */
  readonly maxKeys?: number | undefined;
  /**
   * Warnings to log: all (`true`), none (`false`), or by code, such as `{ RL_TRUST_PROXY_ALL: false }`.
   * docs/warnings.md describes each code.
   * @default true
   */
  readonly warnings?: WarningsOption | undefined;
}

/** Returns the body of a 429: a string, or an object that is sent as JSON. */
export type BodyFunction = (
  decision: Decision,
  context: ExecutionContext,
) => string | object | Promise<string | object>;

/** Options beside those of `forRoot`, and beside `useFactory` in `forRootAsync`: needed before the factory runs. */
export interface RateLimitModuleExtras {
  /**
   * Makes the module's providers injectable in every module.
   * @default true
   */
  readonly isGlobal?: boolean;
  /**
   * Registers the guard for every route. With `false`, place it with `@UseGuards(RateLimitGuard)`.
   * @default true
   */
  readonly registerGuard?: boolean;
  /**
   * Registers the filter that responds to denied requests. With `false`, your filters receive the
   * `RateLimitExceededException`, or you place the filter with `@UseFilters(RateLimitFilter)`.
   * @default true
   */
  readonly registerFilter?: boolean;
}
