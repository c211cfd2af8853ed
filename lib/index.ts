export type { Clock } from './contracts/clock.js';
export type { Decision, DecisionSource, Fallback, RuleDecision } from './contracts/decision.js';
export type { Algorithm, Patience, Receipt, Verdict } from './contracts/algorithm.js';
export type {
  Amendment,
  Ask,
  Block,
  Counter,
  Heartbeat,
  Hit,
  Outcome,
  Store,
  StoreChange,
} from './contracts/store.js';
export type { Lease } from './algorithms/lease.js';
export type { CalendarWindow } from './algorithms/calendar-length.js';
export type { AlgorithmName } from './algorithms/registry.js';
export type { Duration } from './contracts/duration.js';
export type { OnStoreError } from './core/on-store-error.js';
export type { Subject, SubjectValue } from './core/key.js';
export {
  RateLimitEvents,
  type BreakerEvent,
  type DecisionEvent,
  type RateLimitEventMap,
  type StoreErrorEvent,
} from './core/limiter-events.js';
export { recordMetrics } from './core/limiter-metrics.js';
export { RateLimiter } from './rate-limiter.js';
export type {
  AcquireOptions,
  HitOptions,
  RateLimiterOptions,
  RefundOptions,
} from './core/limiter-options.js';
export type { GaugeCallback, InstrumentOptions, Meter, MeterAttributes } from './core/meter.js';
export { Permit } from './core/permit.js';
export { RateLimitConfigError } from './core/rate-limit-config.error.js';
export { RateLimitStoreError } from './core/rate-limit-store.error.js';
export { Reservation } from './core/reservation.js';
export type {
  AlgorithmChoice,
  BlockingRule,
  Candidate,
  LeaseRule,
  QueueRule,
  Rule,
  AnyRule,
  RuleBase,
} from './core/rule.js';
export type { HeaderStyle } from './http/headers.js';
export type { ProblemDetails } from './http/problem.js';
export { overridesFromEnv, type ConfigReader, type RuleOverrides } from './nest/overrides.js';
export { RateLimit, SkipRateLimit } from './nest/rate-limit.decorator.js';
export { RateLimitExceededException } from './nest/rate-limit.exception.js';
export { RateLimitFilter } from './nest/rate-limit.filter.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export {
  RateLimitHealth,
  type RateLimitHealthResult,
  type RateLimitHealthStatus,
} from './nest/rate-limit.health.js';
export { RateLimitModule } from './nest/rate-limit.module.js';
export type { RateLimitModuleExtras, RateLimitModuleOptions } from './nest/rate-limit.options.js';
export { RateLimitService, type OrName, type OrRoute } from './nest/rate-limit.service.js';
export type { RouteReference } from './nest/routes.js';
export { RateLimitUnavailableException } from './nest/rate-limit-unavailable.exception.js';
export type {
  By,
  ChargeResult,
  ChargeWhen,
  HeaderSource,
  NamedRule,
  OnMissingSubject,
  PerRequest,
  RouteRule,
  RouteRuleFields,
  SubjectResolver,
} from './nest/route-rule.js';
export { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from './nest/tokens.js';
export type { WarningCode, WarningsOption } from './nest/warning-codes.js';
export { Warnings } from './nest/warnings.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export { RedisStore } from './stores/redis/redis.store.js';
export type { RedisStoreOptions } from './stores/redis/redis.store.options.js';
export { StoreFault, type FaultKind } from './contracts/store-fault.js';
export type { RedisConnection, UserRedisClient } from './stores/redis/redis-option.js';
