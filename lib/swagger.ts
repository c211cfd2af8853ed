// nestjs-redis-rate-limit/swagger
export { describeRateLimits, type OpenApiDocument } from './swagger/describe-rate-limits.js';
export type { RateLimitExtension } from './nest/request/rate-limit-extension.js';
