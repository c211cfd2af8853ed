// nestjs-redis-rate-limit/throttler
export { RateLimitThrottlerStorage, type ThrottlerRecord } from './nest/throttler/throttler-storage.js';
export type { RateLimitThrottlerStorageOptions } from './nest/throttler/throttler-storage.options.js';
export type { ThrottlerAlgorithm } from './nest/throttler/throttler-rules.js';
