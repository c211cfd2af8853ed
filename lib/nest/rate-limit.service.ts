import type { Decision, RuleDecision } from '../contracts/decision.js';
import type { Duration } from '../contracts/duration.js';
import { durationOption, readOptions } from '../contracts/options.js';
import { rejectConfig } from '../contracts/rate-limit-config.error.js';
import type { ReserveArguments, RuleNames, Rules, SettledCost } from '../limiter/operation.js';
import type {
  BlockOptions,
  ConsumeOptions,
  RateLimiterOptions,
  WaitOptions,
} from '../limiter/rate-limiter.options.js';
import type { Permit } from '../limiter/permit.js';
import type { Resolver } from '../limiter/program-operations.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { Reservation } from '../limiter/reservation.js';
import type { LiveRules } from './live-rules.js';
import type { AnyRule, BlockingRule, ConcurrencyRule, Rule } from '../rules/rule.js';
import type { EventSubject, SubjectValue } from '../rules/subject.js';
import type { Explanation } from './explanation.js';
import type { OrName, OrRoute, OrRoutes } from './programs/program-rules.js';
import type { RuleTable } from './rules/rule-table.js';

/** Options of `reset` in applications. */
export interface ResetOptions {
  /** The window of the counters, for a rule whose window is a function: each window has its own counters. */
  readonly window?: Duration;
}

/**
 * Injectable limiter for jobs, messages and calls to other services. It is the limiter of the guard, and also takes
 * the names of the module's rules and the rules of routes. Its operations are those of {@link RateLimiter}.
 *
 * A rule by name has its overrides, and shares its counters with the routes on which it has `scope: 'shared'`.
 * `{ route: [LoginController, 'login'], rule: 'default' }` is the counter of a route. The subject is the plain value:
 * an IP, a user id, an API key; for a list in `by`, a list in the same order.
 *
 * Every operation throws a RateLimitConfigError if the rule or route does not exist, if the operation does not
 * support the rule's algorithm, or if it needs a `limit`, `window` or `cost` that is a function of the request.
 *
 * @example
 * await limits.consume('mail', tenant, { cost: recipients.length });
 * await limits.reset({ route: [LoginController, 'login'] }, '203.0.113.7');
 */
export class RateLimitService extends RateLimiter {
  /** @internal Set by the operations page. */
  explainer: RateLimitService['explain'] | undefined;

  /** @internal */
  constructor(
    options: RateLimiterOptions,
    /** @internal */
    readonly table: RuleTable,
    /** Changes the module's rules while the application runs. */
    readonly rules: LiveRules,
    openResolver: () => Promise<Resolver>,
  ) {
    super(options, openResolver);
  }

  /**
   * Returns what a subject has left under each rule, without changing anything: one call to Redis.
   *
   * @param subject the plain value: an IP, a user id, an API key
   * @param rules names of rules; by default all rules of the module with `scope: 'shared'` (as those in `onDemand` have)
   *   that count by such a subject and do not depend on the request
   * @throws RateLimitConfigError if one of `rules` is unknown, depends on the request, or counts by another subject
   * @example
   * const [mail] = await limits.usage('tenant-7', ['mail']); // { rule: 'mail', limit: 1000, remaining: 12, ... }
   */
  async usage(subject: SubjectValue, rules?: readonly string[]): Promise<readonly RuleDecision[]> {
    const shared = this.table.ofOptions.filter(({ declared }) => declared.fields.scope === 'shared');
    const names = rules ?? shared.map(({ name }) => name);
    return this.run([], (operations) => operations.usage(names, subject, rules === undefined));
  }

  /**
   * Returns why a request was denied: the result of each rule, the live changes in force, what decided, and the recorded
   * requests of its subjects before. Takes at most 3 s. `RateLimitDashboardModule` records denials. The call is logged.
   *
   * @param id the id of the denial: `instance` of its problem details
   * @param options.by name of the caller, for the log
   * @throws RateLimitConfigError if an argument is invalid, or the application does not record denials
   */
  async explain(id: string, options: { readonly by: string }): Promise<Explanation<EventSubject>> {
    if (this.explainer) return this.explainer(id, options);
    rejectConfig('explain: RateLimitDashboardModule, which records denials, is not imported');
  }

  override consume<Name extends string>(
    rules: OrRoutes<Rule<Name>, Name>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return super.consume(rules as Rules<Rule<Name>>, subject, options);
  }

  override peek<Name extends string>(
    rules: OrRoutes<AnyRule<Name>, Name>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return super.peek(rules as Rules<AnyRule<Name>>, subject, options);
  }

  override reserve<
    Name extends string = never,
    Listed extends string = never,
    Settled extends RuleNames<Name, Listed> = never,
  >(
    rules: OrRoute<AnyRule<Name>, Name> | readonly OrRoute<AnyRule<Listed>, Listed>[],
    subject: SubjectValue,
    ...options: ReserveArguments<Name, Listed, Settled>
  ): Promise<Reservation<SettledCost<Name, Listed, Settled>>> {
    return super.reserve<Name, Listed, Settled>(rules as Rules<AnyRule<never>>, subject, ...options);
  }

  override acquire(rule: OrName<Rule>, subject: SubjectValue, options?: WaitOptions): Promise<Decision> {
    return super.acquire(rule as Rule, subject, options);
  }

  override hold(
    rule: OrName<ConcurrencyRule>,
    subject: SubjectValue,
    options?: WaitOptions,
  ): Promise<Permit> {
    return super.hold(rule as ConcurrencyRule, subject, options);
  }

  override block(
    rule: OrRoute<BlockingRule>,
    subject: SubjectValue,
    duration: Duration,
    options?: BlockOptions,
  ): Promise<void> {
    return super.block(rule as BlockingRule, subject, duration, options);
  }

  override unblock(rule: OrRoute<BlockingRule>, subject: SubjectValue): Promise<boolean> {
    return super.unblock(rule as BlockingRule, subject);
  }

  /**
   * Deletes the counters and blocks of a subject: its next request has the full limit. A rule by name or of a route has a
   * counter for each window that it can have: in the code, in its plans, in its live change and in the exception of the
   * subject.
   *
   * @param options.window the window of the counters, for a rule whose window is a function
   * @returns whether there was a counter or a block
   * @throws RateLimitConfigError if a rule is unknown or invalid, or its window is a function and none is given
   * @throws RateLimitStoreError if Redis did not confirm the reset; the fallback of this process applies it, and
   *   Redis may have
   */
  override async reset(
    rules: OrRoutes<AnyRule>,
    subject: SubjectValue,
    options?: ResetOptions,
  ): Promise<boolean> {
    const { window } = readOptions('reset', options, { window: durationOption });
    return this.run(rules, (operations) => operations.reset(rules as Rules<AnyRule>, subject, window));
  }
}
