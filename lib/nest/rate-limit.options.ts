import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import type { OnStoreError } from '../core/on-store-error.js';
import type { HeaderStyle } from '../http/headers.js';
import type { RedisConnection } from '../stores/redis/redis-option.js';
import type { RuleOverrides } from './overrides.js';
import type { NamedRule } from './route-rule.js';
import type { WarningsOption } from './warning-codes.js';

export interface RateLimitModuleOptions {
  /** Where Redis is: a URL, ioredis options, or a client or Cluster you own. Absent: this process's memory. */
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
  /** What every rule says unless it says otherwise. */
  readonly defaults?: NamedRule | undefined;
  /**
   * How limits are told in responses, one style or several; `false`: not at all (but `Retry-After`).
   * @default 'draft-10'
   */
  readonly headers?: HeaderStyle | readonly HeaderStyle[] | false | undefined;
  /**
   * Makes the body of a 429, synchronously or asynchronously. If it fails, the error is logged and the body is
   * the default.
   * @default the RFC 9457 problem details
   */
  readonly body?: ((decision: Decision) => string | object | Promise<string | object>) | undefined;
  /**
   * Is told every decision on a request, those of observed rules and candidates with it; what it throws
   * is logged and changes nothing.
   */
  readonly onDecision?: ((decision: Decision, context: ExecutionContext) => unknown) | undefined;
  /**
   * What every key begins with: 0 to 64 printable ASCII characters without braces and spaces.
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
   * Whether what is denied is answered from this process, without asking Redis, for as long as Redis would
   * say the same.
   * @default true
   */
  readonly denyCache?: boolean | undefined;
  /**
   * Milliseconds after which Redis is given up on, an integer from 1.
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

/** What is said beside the options, since the module needs it before they are there. */
export interface RateLimitModuleExtras {
  /**
   * Whether the module's providers are there for every module.
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
