// nestjs-redis-rate-limit/throttler
export { RateLimitThrottlerStorage, type ThrottlerRecord } from './nest/throttler/throttler-storage.js';
