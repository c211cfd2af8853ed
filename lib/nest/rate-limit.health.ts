import { Inject, Injectable } from '@nestjs/common';
import type { BaseStore } from '../contracts/base-store.js';
import type { OnStoreError, Rule } from '../rules/rule.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import { LiveRules } from './live-rules.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from './tokens.js';
import type { WarningCode } from './warning-codes.js';
import { Warnings } from './warnings.js';

/** The result of `isHealthy`, as `@nestjs/terminus` expects it: the status by its key. */
export type RateLimitHealthResult<Key extends string = string> = Record<Key, RateLimitHealthStatus>;

/** The state of rate limiting in this process. */
export interface RateLimitHealthStatus {
  /** `'down'` while a circuit breaker is open, if `health.fallbackIsDown` is `true`; otherwise `'up'`. */
  readonly status: 'up' | 'down';
  /** The store in use. */
  readonly store: BaseStore['source'];
  /** Fallback of rules that set none. */
  readonly onStoreError: OnStoreError;
  /** Number of processes that share the limits, by the last heartbeat. */
  readonly instances: number;
  /** Error of the last heartbeat, after which `instances` may be out of date. Absent if it succeeded. */
  readonly instancesStale?: string;
  /**
   * Whether a circuit breaker is open or keeps opening and closing, or the fallback has decided a request in the last
   * ten seconds and the circuit breaker of its server has not closed since, or live rules were lost.
   */
  readonly degraded: boolean;
  /** Why Redis cannot decide, or what the source of live rules has lost. Absent unless `degraded`. */
  readonly reason?: string;
  /** The servers that cannot decide, each with the reason; `''` if there is only one server. */
  readonly servers: readonly { readonly server: string; readonly reason: string }[];
  /** Codes of the warnings that were logged. docs/warnings.md describes each. */
  readonly warnings: readonly WarningCode[];
}

const FLAPPING = 'its circuit breaker opens and closes in turn';

const NOTHING: Rule = { name: 'health', limit: 1, window: '1s', cost: 0, onStoreError: 'allow' };

/**
 * Injectable health indicator for `@nestjs/terminus` from 11. It can also be called without Terminus.
 *
 * @example
 * health.check([() => rateLimit.isHealthy()]);
 */
@Injectable()
export class RateLimitHealth {
  /** @internal */
  constructor(
    @Inject(RATE_LIMIT_STORE) private readonly store: BaseStore,
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(Warnings) private readonly warnings: Warnings,
    @Inject(LiveRules) private readonly live: LiveRules,
  ) {}

  /**
   * Sends the store a request that changes nothing, and returns whether the fallback decides. The status stays `'up'`
   * while the fallback decides, so that a readiness probe does not take every process out of service at once. It is
   * `'down'` with `onStoreError: 'deny'` or `health: { fallbackIsDown: true }`.
   *
   * @param key the name of the indicator in the result; by default `'rateLimit'`
   */
  async isHealthy<Key extends string = 'rateLimit'>(
    key: Key = 'rateLimit' as Key,
  ): Promise<RateLimitHealthResult<Key>> {
    await this.limiter.peek(NOTHING, 'health');
    const { onStoreError = 'local', health: { fallbackIsDown = onStoreError === 'deny' } = {} } =
      this.options;
    const { reason, servers } = this.degraded;
    const { instanceCount, instanceCountError, events } = this.limiter;
    const health: RateLimitHealthStatus = {
      status: events.openCircuits.size > 0 && fallbackIsDown ? 'down' : 'up',
      store: this.store.source,
      onStoreError,
      instances: instanceCount,
      ...(instanceCountError !== undefined && { instancesStale: await reasonOf(instanceCountError) }),
      degraded: reason !== undefined,
      ...(reason !== undefined && { reason }),
      servers,
      warnings: [...this.warnings.active.keys()],
    };
    return { [key]: health } as RateLimitHealthResult<Key>;
  }

  /** @internal Returns why this process is degraded, and the messages of the warnings that were logged. */
  get problems(): readonly string[] {
    const { reason } = this.degraded;
    const warnings = this.warnings.all
      .filter(([code]) => code !== 'RL_REDIS_UNAVAILABLE')
      .map(([code, message]) => `${message} (${code})`);
    return reason === undefined ? warnings : [`Degraded: ${reason}`, ...warnings];
  }

  private get degraded(): Pick<RateLimitHealthStatus, 'reason' | 'servers'> {
    const { events } = this.limiter;
    const servers = Array.from(events.faults, ([server, { message }]) => ({
      server,
      reason: events.isFlapping(server) ? `${message}; ${FLAPPING}` : message,
    }));
    const isOpen = ({ server }: { server: string }): boolean => events.openCircuits.has(server);
    const { loss } = this.live;
    const reason =
      (servers.find(isOpen) ?? servers[0])?.reason ?? (loss && `live rules were lost: ${loss.reason}`);
    return { servers, ...(reason !== undefined && { reason }) };
  }
}

async function reasonOf(error: unknown): Promise<string> {
  const { faultOf } = await import('../stores/redis/link/fault.js');
  return faultOf(error, '').message;
}
