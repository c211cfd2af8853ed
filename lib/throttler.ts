// nestjs-redis-rate-limit/throttler
export { RateLimitThrottlerStorage, type ThrottlerRecord } from './throttler/throttler-storage.js';
