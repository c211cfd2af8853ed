// Decorators
export { RateLimit, SkipRateLimit } from './nest/rate-limit.decorator.js';
export { RateLimitId } from './nest/rate-limit.decorator.js';

export { Settle } from './nest/parameter.decorators.js';
export { Usage } from './nest/parameter.decorators.js';
export { byArguments } from './nest/rules/by.js';

// Module
export { limitBeforeRouting } from './nest/limit-before-routing.js';
export { RateLimitModule } from './nest/rate-limit.module.js';
export type { RateLimitModuleAsyncOptions } from './nest/rate-limit.module-definition.js';
export type { RateLimitModuleOptions } from './nest/rate-limit.options.js';
export type { ProblemDetails } from './http/problem.js';
export { overridesFromEnv } from './nest/rules/overrides.js';
export type { StandardSchema } from './nest/checks/options-schema.js';
export { rateLimitEnvSchema, rateLimitSchema } from './nest/rate-limit.module-definition.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export { RateLimitFilter } from './nest/rate-limit.filter.js';
export { Warnings } from './nest/warnings.js';
export { RATE_LIMIT_OPTIONS, RATE_LIMIT_REDIS, RATE_LIMIT_STORE } from './nest/tokens.js';

export type { RedisConnection } from './stores/redis/redis-option.js';

// Fields of rules
export type { RouteRule, By, SubjectResolver, CountResult } from './nest/rules/route-rule.js';
export type { Duration } from './contracts/duration.js';
export type { OnStoreError } from './rules/rule.js';
export type { AlgorithmName } from './algorithms/registry.js';
export type { Rule, ConcurrencyRule } from './rules/rule.js';

// Programs
export { RateLimitService } from './nest/rate-limit.service.js';
export type { RouteReference } from './nest/request/routes.js';
export { SubjectDigest, type SubjectValue } from './rules/subject.js';
export { Permit } from './limiter/permit.js';
export type { Reservation } from './limiter/reservation.js';

// Live rules
export { LiveRules } from './nest/live-rules.js';
export type { EffectiveRule } from './nest/live-rules.js';
export type { LiveRuleFields } from './live/change-options.js';
export type {
  RuleSource,
  SourcedRule,
  SourcedRules,
  RuleLoss,
  RuleChange,
  RuleChangeRecord,
} from './contracts/rule-source.js';
export { RateLimitConflictError } from './contracts/rate-limit-conflict.error.js';

// Decisions and errors
export type { Decision, RuleDecision } from './contracts/decision.js';
export type { Explanation } from './nest/explanation.js';
export { RateLimitExceededException } from './nest/rate-limit.exception.js';
export { RateLimitUnavailableException } from './nest/rate-limit.exception.js';
export { RateLimitConfigError } from './contracts/rate-limit-config.error.js';
export { RateLimitStoreError } from './limiter/rate-limit-store.error.js';
export { StoreFault } from './contracts/store-fault.js';

// Events, metrics and health
export {
  RateLimitEvents,
  type RateLimitEventMap,
  type DecisionEvent,
  type StoreErrorEvent,
  type BreakerEvent,
  type ThresholdEvent,
} from './limiter/events.js';
export { recordMetrics } from './limiter/metrics.js';
export { RateLimitHealth, type RateLimitHealthResult } from './nest/rate-limit.health.js';

// Stores
export { MemoryStore } from './stores/memory/memory.store.js';
export type { Clock } from './contracts/clock.js';
