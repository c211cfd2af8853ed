// nestjs-redis-rate-limit/testing
export { RateLimitTesting } from './testing/rate-limit-testing.js';
export {
  rateLimitMatchers,
  testDecision,
  type ExpectedDenial,
  type MatcherResult,
} from './testing/matchers.js';
