// Programs without Nest: nestjs-redis-rate-limit/limiter
import './limiter/every-part.js';

export { RateLimiter } from './limiter/rate-limiter.js';
export type { RateLimiterOptions } from './limiter/rate-limiter.options.js';
export { MemoryStore } from './stores/memory/memory.store.js';
export type { Rule, ConcurrencyRule, OnStoreError } from './rules/rule.js';
export type { Duration } from './contracts/duration.js';
export type { Clock } from './contracts/clock.js';
export { SubjectDigest, type SubjectValue } from './rules/subject.js';
export type { Decision, RuleDecision } from './contracts/decision.js';
export { Permit } from './limiter/permit.js';
export type { Reservation } from './limiter/reservation.js';
export { RateLimitEvents, type RateLimitEventMap } from './limiter/events.js';
export { recordMetrics } from './limiter/metrics.js';
export { RateLimitConfigError } from './contracts/rate-limit-config.error.js';
export { RateLimitStoreError } from './limiter/rate-limit-store.error.js';
export { StoreFault } from './contracts/store-fault.js';
