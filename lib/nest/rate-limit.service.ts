import type { Decision } from '../contracts/decision.js';
import type { Duration } from '../contracts/duration.js';
import type { Subject } from '../core/key.js';
import type { Rules } from '../core/limiter.js';
import { RateLimiter } from '../rate-limiter.js';
import type { AcquireOptions, HitOptions, RateLimiterOptions } from '../core/limiter-options.js';
import type { Permit } from '../core/permit.js';
import type { Reservation } from '../core/reservation.js';
import type { AnyRule, BlockingRule, LeaseRule, QueueRule, Rule } from '../core/rule.js';
import { coreRule } from './route-limit.js';
import type { RuleBook } from './rule-book.js';

/** A rule, or the name of one in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/**
 * Limits what is not a route: jobs, messages, the items of a batch, calls to others. It is the
 * `RateLimiter` that the guard decides by, and knows the module's rules by name.
 *
 * A rule given by its name has its overrides, and counts together with the routes on which it has
 * `scope: 'shared'`. Every operation throws a RateLimitConfigError if there is no rule of that name, it
 * depends on the request, or it is not one for that operation.
 */
export class RateLimitService extends RateLimiter {
  private readonly named = new Map<string, AnyRule>();

  constructor(
    options: RateLimiterOptions,
    private readonly book: RuleBook,
  ) {
    super(options);
  }

  override consume(rules: Rules<OrName<Rule>>, subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.resolved<Rule, Decision>(rules, (found) => super.consume(found, subject, options));
  }

  override peek(rules: Rules<OrName<AnyRule>>, subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.resolved<AnyRule, Decision>(rules, (found) => super.peek(found, subject, options));
  }

  override reserve(rules: Rules<OrName<Rule>>, subject: Subject, options?: HitOptions): Promise<Reservation> {
    return this.resolved<Rule, Reservation>(rules, (found) => super.reserve(found, subject, options));
  }

  override async acquire(
    rule: OrName<QueueRule>,
    subject: Subject,
    options?: AcquireOptions,
  ): Promise<Decision> {
    return super.acquire(this.find(rule), subject, options);
  }

  override async enter(rule: OrName<LeaseRule>, subject: Subject, options?: HitOptions): Promise<Permit> {
    return super.enter(this.find(rule), subject, options);
  }

  override async block(rule: OrName<BlockingRule>, subject: Subject, duration: Duration): Promise<void> {
    await super.block(this.find(rule), subject, duration);
  }

  override reset(rules: Rules<OrName<AnyRule>>, subject: Subject): Promise<void> {
    return this.resolved<AnyRule, void>(rules, (found) => super.reset(found, subject));
  }

  /** The same as `consume` by the rule's name. */
  check(name: string, subject: Subject, options?: HitOptions): Promise<Decision> {
    return this.consume(name, subject, options);
  }

  private async resolved<Each extends AnyRule, Result>(
    rules: Rules<OrName<Each>>,
    operation: (rules: Rules<Each>) => Promise<Result>,
  ): Promise<Result> {
    if (!Array.isArray(rules)) return operation(this.find(rules as OrName<Each>));
    return operation((rules as readonly OrName<Each>[]).map((rule) => this.find(rule)));
  }

  /** The rule of a name; the operation refuses it where it is not one of its kind. */
  private find<Each extends AnyRule>(rule: OrName<Each>): Each {
    if (typeof rule !== 'string') return rule;
    const known = this.named.get(rule) ?? coreRule(rule, this.book.namedRule(rule));
    this.named.set(rule, known);
    return known as Each;
  }
}
