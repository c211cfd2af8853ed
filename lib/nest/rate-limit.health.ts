import { Inject, Injectable } from '@nestjs/common';
import type { Store } from '../contracts/store.js';
import type { OnStoreError } from '../core/on-store-error.js';
import { RateLimiter } from '../core/limiter.js';
import type { Rule } from '../core/rule.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from './tokens.js';

/** How the limits of this process are: what a health indicator of `@nestjs/terminus` answers. */
export type RateLimitHealthResult<Key extends string = string> = Record<Key, RateLimitHealthStatus>;

export interface RateLimitHealthStatus {
  /** `'down'` if requests are refused since the store does not answer. */
  readonly status: 'up' | 'down';
  /** Where limits are counted. */
  readonly store: Store['source'];
  /** What requests get while the store does not answer, where a rule does not say. */
  readonly onStoreError: OnStoreError;
  /** How many processes share the limits, as far as this one knows; counted only with `'local'`. */
  readonly instances: number;
  /** Servers that are given up, and why; none if all is well. */
  readonly open: readonly { readonly server: string; readonly reason: string }[];
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
  ) {}

  /**
   * Asks the store a question that changes nothing, and tells which servers are given up. That is `'down'`
   * only where it matters to clients, with `onStoreError: 'deny'`: what serves them without Redis must not
   * be taken out of service for want of it.
   */
  async isHealthy<Key extends string = 'rateLimit'>(
    key: Key = 'rateLimit' as Key,
  ): Promise<RateLimitHealthResult<Key>> {
    await this.limiter.peek(NOTHING, 'health');
    const { onStoreError = 'allow' } = this.options;
    const open = Array.from(this.limiter.events.openCircuits, ([server, error]) => ({
      server,
      reason: String(error),
    }));
    const status = open.length > 0 && onStoreError === 'deny' ? 'down' : 'up';
    const { instanceCount: instances } = this.limiter;
    const health: RateLimitHealthStatus = {
      status,
      store: this.store.source,
      onStoreError,
      instances,
      open,
    };
    return { [key]: health } as RateLimitHealthResult<Key>;
  }
}
