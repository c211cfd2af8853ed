import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { OnStoreError } from '../core/on-store-error.js';
import type { HeaderStyle } from '../http/headers.js';
import type { RedisConnection } from '../stores/redis/redis-option.js';
import type { RuleOverrides } from './overrides.js';
import type { NamedRule } from './route-rule.js';
import type { WarningsOption } from './warning-codes.js';

export interface RateLimitModuleOptions {
  /** Where Redis is: a URL, ioredis options, or a client or Cluster you own. Absent: the memory of this process.
   * An empty string is an error. */
  readonly redis?: RedisConnection | undefined;
  /** Rules that apply to every route, by name. */
  readonly rules?: Readonly<Record<string, NamedRule>> | undefined;
  /**
   * Rules by name that apply only where a decorator names them (`@RateLimit('login')`), or a program does
   * (`limits.consume('mail', tenant)`). They have `scope: 'shared'` unless they state another.
   */
  readonly onDemand?: Readonly<Record<string, NamedRule>> | undefined;
  /** Fields of rules by name, applied after the decorators: the place for ConfigService. */
  readonly overrides?: RuleOverrides | undefined;
  /** Fields of every rule that does not set them. */
  readonly defaults?: NamedRule | undefined;
  /**
   * The format of the response headers, one style or several. `false`: only `Retry-After` is sent.
   * @default 'draft-10'
   */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
  /**
   * Returns the body of a 429, synchronously or asynchronously. If it fails, the error is logged and the body is
   * the default.
   * @default the RFC 9457 problem details
   */
  readonly body?: ((decision: Decision) => string | object | Promise<string | object>) | undefined;
  /**
   * Called with every decision on a request, including those of observed rules and candidates. An error that it
   * throws is logged and changes nothing.
   */
  readonly onDecision?: ((decision: Decision, context: ExecutionContext) => unknown) | undefined;
  /**
   * The start of every key: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string | undefined;
  /**
   * The fallback of rules that do not state one: what decides when Redis fails or does not answer in time.
   * `'local'`: each process counts in its memory, with its share of the limit; `'allow'` allows every request;
   * `'deny'` answers 503.
   * @default 'local'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * What `RateLimitHealth` reports. `fallbackIsDown`: the status is `'down'` while the fallback decides in the
   * place of Redis.
   * @default { fallbackIsDown: false }, or true with `onStoreError: 'deny'`
   */
  readonly health?: { readonly fallbackIsDown?: boolean | undefined } | undefined;
  /**
   * The least number of processes that share the limits, an integer from 1. The processes count one another by
   * heartbeats in Redis; until the first, and whenever the count is lower, this number applies.
   * @default 1
   */
  readonly instances?: number | undefined;
  /**
   * Caches denials in the process until they expire, at most a second, on Cluster too. Such decisions have
   * `source: 'cache'`.
   * @default true
   */
  readonly denyCache?: boolean | undefined;
  /**
   * Milliseconds that a request waits for Redis at most, an integer from 1. Then the fallback decides.
   * @default 50
   */
  readonly timeout?: number | undefined;
  /**
   * The most keys that the memory store holds, an integer from 1. A key counts by its size, as one for each 250
   * to 750 bytes of heap: a log of 1,000 requests is 63. Beyond it, the least recently used are forgotten.
   * @default 100_000
   */
  readonly maxKeys?: number | undefined;
  /**
   * Which warnings are logged: all (`true`), none (`false`), or by code, such as
   * `{ RL_TRUST_PROXY_ALL: false }`. docs/warnings.md describes each.
   * @default true
   */
  readonly warnings?: WarningsOption | undefined;
}

/** Options beside `useFactory`: the module needs them before the factory runs. */
export interface RateLimitModuleExtras {
  /**
   * Whether the module's providers can be injected in every module.
   * @default true
   */
  readonly isGlobal?: boolean;
  /**
   * Whether the guard is registered for every route; `false`: place it with `@UseGuards(RateLimitGuard)`.
   * @default true
   */
  readonly registerGuard?: boolean;
  /**
   * Whether the filter that answers a denied request is registered for every route. `false`: your own filters
   * receive the `RateLimitExceededException`, or you place it with `@UseFilters(RateLimitFilter)`.
   * @default true
   */
  readonly registerFilter?: boolean;
}
