import { ConfigurableModuleBuilder, type Provider } from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import type { Decision } from '../contracts/decision.js';
import type { OnStoreError } from '../core/failure-policy.js';
import type { HeaderStyle } from '../http/headers.js';
import type { RedisConnection } from '../stores/redis/connection.js';
import { RateLimitFilter } from './rate-limit.filter.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import type { NamedRule } from './route-rule.js';
import { RATE_LIMIT_OPTIONS } from './tokens.js';

/** Any fields of named rules, applied last: whatever a configuration file or the environment gave. */
export type RuleOverrides = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface RateLimitModuleOptions {
  /** Where Redis is: a URL, ioredis options, or a client or Cluster you own. Absent: this process's memory. */
  readonly redis?: RedisConnection | undefined;
  /** Rules that apply to every route, by name. */
  readonly rules?: Readonly<Record<string, NamedRule>> | undefined;
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
   * Makes the body of a 429.
   * @default the RFC 9457 problem details
   */
  readonly body?: ((decision: Decision) => string | object) | undefined;
  /**
   * What every key begins with: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string | undefined;
  /**
   * What to do with a request when Redis fails or does not answer in time: let it pass, or answer 503.
   * @default 'allow'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * Milliseconds after which Redis is given up on, an integer from 1.
   * @default 50
   */
  readonly timeout?: number | undefined;
  /**
   * The most keys that the memory store holds, an integer from 1.
   * @default 100_000
   */
  readonly maxKeys?: number | undefined;
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
}

const extras: Required<RateLimitModuleExtras> = { isGlobal: true, registerGuard: true };

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RateLimitModuleOptions>({
  optionsInjectionToken: RATE_LIMIT_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createRateLimitOptions')
  .setExtras<RateLimitModuleExtras>(extras, (definition, { isGlobal, registerGuard }) => {
    const providers: Provider[] = [{ provide: APP_FILTER, useExisting: RateLimitFilter }];
    if (registerGuard) providers.push({ provide: APP_GUARD, useExisting: RateLimitGuard });
    return {
      ...definition,
      global: isGlobal ?? true,
      providers: [...(definition.providers ?? []), ...providers],
    };
  })
  .build();
