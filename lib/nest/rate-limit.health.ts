import { Inject, Injectable } from '@nestjs/common';
import type { Store } from '../contracts/store.js';
import type { OnStoreError } from '../core/on-store-error.js';
import { RateLimiter } from '../rate-limiter.js';
import type { Rule } from '../core/rule.js';
import { faultOf } from '../stores/redis/fault.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from './tokens.js';
import type { WarningCode } from './warning-codes.js';
import { Warnings } from './warnings.js';

/** How the limits of this process are: what a health indicator of `@nestjs/terminus` answers. */
export type RateLimitHealthResult<Key extends string = string> = Record<Key, RateLimitHealthStatus>;

export interface RateLimitHealthStatus {
  /** `'down'` while requests are denied since the store cannot decide, or with `health: { fallbackIsDown: true }`. */
  readonly status: 'up' | 'down';
  /** Where limits are counted. */
  readonly store: Store['source'];
  /** What requests get while the store cannot decide, where a rule does not say. */
  readonly onStoreError: OnStoreError;
  /** How many processes share the limits, as far as this one knows. */
  readonly instances: number;
  /** Whether the fallback decides requests, or has done so in the last ten seconds. */
  readonly degraded: boolean;
  /** Why; absent unless `degraded`. */
  readonly reason?: string;
  /** The servers that are not asked, and why; `''` is the only server. */
  readonly servers: readonly { readonly server: string; readonly reason: string }[];
  /** The codes of the warnings that were logged: see docs/warnings.md. */
  readonly warnings: readonly WarningCode[];
}

const NOTHING: Rule = { name: 'health', limit: 1, window: '1s', cost: 0, onStoreError: 'allow' };

/**
 * Tells how the limits are: a health indicator for `@nestjs/terminus` from 11, and for anybody else.
 *
 * @example health.check([() => rateLimit.isHealthy()])
 */
@Injectable()
export class RateLimitHealth {
  constructor(
    @Inject(RATE_LIMIT_STORE) private readonly store: Store,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /**
   * Sends the store a request that changes nothing, and reports whether the fallback decides. The status stays
   * `'up'` then, so that a readiness probe does not take every process out of service at once; it is `'down'`
   * with `onStoreError: 'deny'` or `health: { fallbackIsDown: true }`.
   */
  async isHealthy<Key extends string = 'rateLimit'>(
    key: Key = 'rateLimit' as Key,
  ): Promise<RateLimitHealthResult<Key>> {
    await this.limiter.peek(NOTHING, 'health');
    const { onStoreError = 'local', health: { fallbackIsDown = onStoreError === 'deny' } = {} } =
      this.options;
    const { openCircuits, recentFailure } = this.limiter.events;
    const servers = Array.from(openCircuits, ([server, error]) => ({ server, reason: reasonOf(error) }));
    const reason = servers[0]?.reason ?? (recentFailure === undefined ? undefined : reasonOf(recentFailure));
    const health: RateLimitHealthStatus = {
      status: servers.length > 0 && fallbackIsDown ? 'down' : 'up',
      store: this.store.source,
      onStoreError,
      instances: this.limiter.instanceCount,
      degraded: reason !== undefined,
      ...(reason !== undefined && { reason }),
      servers,
      warnings: [...this.warnings.active.keys()],
    };
    return { [key]: health } as RateLimitHealthResult<Key>;
  }
}

function reasonOf(error: unknown): string {
  return faultOf(error, '').message;
}
