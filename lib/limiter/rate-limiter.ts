import { Limiter } from './limiter.js';
import type { RateLimiterOptions } from './options.js';
import { MemoryStore } from '../stores/memory/memory.store.js';

/**
 * Limits requests, jobs or outbound calls without Nest. Several rules in one call are decided all or nothing.
 *
 * While the store cannot decide, `onStoreError` does. Call `close()` at the end: until then the limiter sends
 * heartbeats to Redis.
 *
 * @example
 * const limiter = new RateLimiter({ store: new RedisStore({ redis: 'redis://localhost' }) });
 * const { allowed } = await limiter.consume({ window: '1m', limit: 100 }, 'ann');
 */
export class RateLimiter extends Limiter {
  /** @throws RateLimitConfigError if `prefix` or `instances` is invalid */
  constructor({ fallback, ...options }: RateLimiterOptions) {
    super({ ...options, openFallback: () => fallback ?? new MemoryStore() });
  }
}
