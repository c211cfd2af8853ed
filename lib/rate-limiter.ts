import { Limiter } from './core/limiter.js';
import type { RateLimiterOptions } from './core/limiter-options.js';
import { MemoryStore } from './stores/memory/memory.store.js';

/**
 * Limits anything: requests, jobs, outbound calls. Rules given together are decided all or nothing.
 *
 * While its store cannot decide, each process counts in its own memory with its share of the limit, unless
 * `onStoreError` says otherwise. Close it at the end: it sends heartbeats to a store that processes share.
 *
 * @example
 * const limiter = new RateLimiter({ store: new RedisStore({ redis: 'redis://localhost' }) });
 * const { allowed } = await limiter.consume({ window: '1m', limit: 100 }, 'ann');
 */
export class RateLimiter extends Limiter {
  /** @throws RateLimitConfigError if the prefix or `instances` is not as allowed */
  constructor({ fallback, ...options }: RateLimiterOptions) {
    super({ ...options, openFallback: () => fallback ?? new MemoryStore() });
  }
}
