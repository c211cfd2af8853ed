// Decorators
export {
  RateLimit,
  SkipRateLimit,
  type PositionalFields,
  type RateLimitArguments,
} from './nest/rate-limit.decorator.js';
export { RateLimitId } from './nest/rate-limit-id.decorator.js';
export type { CheckedRule, DecoratedRule } from './nest/rules/decorated-rule.js';

export { Usage } from './nest/usage.decorator.js';
export { byArguments } from './nest/transports/provider.js';

// Module
export { RateLimitModule } from './nest/rate-limit.module.js';
export type { RateLimitModuleAsyncOptions } from './nest/rate-limit.module-definition.js';
export type {
  RateLimitModuleOptions,
  RateLimitModuleExtras,
  BodyFunction,
} from './nest/rate-limit.options.js';
export type { RedisConnection, UserRedisClient } from './stores/redis/redis-option.js';
export type { RedisConnectionOptions } from './stores/redis/redis-connection-options.js';
export type { HeaderStyle } from './http/headers.js';
export type { DenialExtensions, ProblemDetails } from './http/problem.js';
export type { TransportName } from './nest/rules/transport-names.js';
export { overridesFromEnv, type ConfigReader, type RuleOverrides } from './nest/rules/overrides.js';
export { RateLimitGuard } from './nest/rate-limit.guard.js';
export { RateLimitFilter } from './nest/rate-limit.filter.js';
export { Warnings } from './nest/warnings.js';
export type { WarningCode, WarningsOption } from './nest/warning-codes.js';
export { RATE_LIMIT_OPTIONS, RATE_LIMIT_REDIS, RATE_LIMIT_STORE } from './nest/tokens.js';

// Fields of rules
export type {
  RouteRule,
  NamedRule,
  ConfiguredDuration,
  RouteRuleFields,
  By,
  HeaderSource,
  SubjectResolver,
  OnMissingSubject,
  CountWhen,
  CountResult,
  PlanFields,
  PlanName,
  PerRequest,
} from './nest/rules/route-rule.js';
export type { Duration, DurationUnit } from './contracts/duration.js';
export type { CalendarWindow } from './algorithms/calendar-length.js';
export type { OnStoreError } from './rules/on-store-error.js';
export type { AlgorithmName } from './algorithms/registry.js';
export type {
  AlgorithmChoice,
  AnyOptions,
  AnyRule,
  Rule,
  ConcurrencyRule,
  BlockingRule,
  RuleBase,
  Trial,
} from './rules/rule.js';
export type { FairShare } from './algorithms/fair-share-option.js';
export type { Capacity } from './algorithms/burst.js';
export type { Prefetch } from './algorithms/prefetch.js';

// Programs
export { RateLimitService, type OrName, type OrRoute, type ResetOptions } from './nest/rate-limit.service.js';
export type { RouteReference } from './nest/request/routes.js';
export { RateLimiter } from './limiter/rate-limiter.js';
export type { ReserveArguments, Rules, SettledCost } from './limiter/rules-by-name.js';
export type { CostByRule } from './rules/cost.js';
export type {
  RateLimiterOptions,
  ConsumeOptions,
  ReserveOptions,
  WaitOptions,
  RefundOptions,
} from './limiter/options.js';
export { SubjectDigest, type EventSubject, type SubjectValue } from './rules/subject-digest.js';
export { Permit } from './limiter/permit.js';
export { Reservation } from './limiter/reservation.js';

// Live rules
export { LiveRules, type EffectiveField, type EffectiveRule } from './nest/live/live-rules.js';
export type { LiveRuleFields } from './nest/live/live-rule-fields.js';
export type { SetOptions, UnsetOptions } from './nest/live/change-options.js';
export { FileRuleSource } from './rule-sources/file.rule-source.js';
export { MemoryRuleSource } from './rule-sources/memory.rule-source.js';
export type {
  RuleSource,
  SourcedRule,
  SourcedRules,
  RuleLoss,
  LiveFields,
  LiveException,
  ExceptedSubject,
  RuleChange,
  RuleChangeRecord,
} from './contracts/rule-source.js';
export { RateLimitConflictError } from './contracts/rate-limit-conflict.error.js';

// Decisions and errors
export type { Decision, DecisionSource, Fallback, RuleDecision } from './contracts/decision.js';
export { RateLimitExceededException } from './nest/rate-limit.exception.js';
export { RateLimitUnavailableException } from './nest/rate-limit-unavailable.exception.js';
export { RateLimitConfigError } from './contracts/rate-limit-config.error.js';
export { RateLimitStoreError } from './limiter/rate-limit-store.error.js';
export { StoreFault, type FaultKind, type StoreCall } from './contracts/store-fault.js';

// Events, metrics and health
export {
  RateLimitEvents,
  type RateLimitEventMap,
  type RateLimitListener,
  type DecisionEvent,
  type StoreErrorEvent,
  type BreakerEvent,
} from './limiter/events.js';
export { recordMetrics } from './limiter/metrics.js';
export type { Meter, MeterAttributes, InstrumentOptions, GaugeCallback } from './limiter/meter.js';
export {
  RateLimitHealth,
  type RateLimitHealthResult,
  type RateLimitHealthStatus,
} from './nest/rate-limit.health.js';

// Stores
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export type { Clock } from './contracts/clock.js';
