// nestjs-redis-rate-limit/testing
export { RateLimitTesting } from './testing/rate-limit-testing.js';
export { rateLimitMatchers, type ExpectedDenial, type MatcherResult } from './testing/matchers.js';
export { testDecision } from './testing/rate-limited.js';
