import { readOptions } from '../contracts/options.js';
import { Limiter } from './limiter.js';
import { LIMITER_OPTIONS, type RateLimiterOptions } from './options.js';
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
  /** @throws RateLimitConfigError if an option is invalid */
  constructor(options: RateLimiterOptions) {
    const { fallback, ...others } = readOptions('RateLimiter', options, LIMITER_OPTIONS);
    super({ ...others, openFallback: () => fallback ?? new MemoryStore() });
  }
}
