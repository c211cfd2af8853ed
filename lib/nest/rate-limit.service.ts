import type { Decision } from '../contracts/decision.js';
import type { Duration } from '../contracts/duration.js';
import type { SubjectValue } from '../core/key.js';
import type { Rules } from '../core/limiter.js';
import { RateLimiter } from '../rate-limiter.js';
import type { CompiledRule } from '../core/compiled-rule.js';
import type { KeyedRule } from '../core/keyed-rule.js';
import type { AcquireOptions, HitOptions, RateLimiterOptions } from '../core/limiter-options.js';
import type { Operation } from '../core/operation.js';
import type { Permit } from '../core/permit.js';
import { RateLimitConfigError } from '../core/rate-limit-config.error.js';
import type { Reservation } from '../core/reservation.js';
import { checkCost, checkTogether } from '../core/rule-cache.js';
import type { RuleHit } from '../core/rule-hit.js';
import type { AnyRule, BlockingRule, LeaseRule, QueueRule, Rule } from '../core/rule.js';
import { countsAlike } from './by.js';
import { warnOfLargeLog } from './large-log.js';
import { ProgramRule } from './program-rule.js';
import type { RouteLimit } from './route-limit.js';
import type { RouteReference, Routes } from './routes.js';
import type { By } from './route-rule.js';
import type { RuleBook } from './rule-book.js';
import type { Warnings } from './warnings.js';

/** A rule, or the name of one in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/** A rule, the name of one in the module's `onDemand` or `rules`, or the rules of a route. */
export type OrRoute<Each> = OrName<Each> | RouteReference;

/**
 * Limits what is not a route: jobs, messages, the items of a batch, calls to others. It is the
 * `RateLimiter` that the guard decides by, and knows the module's rules by name and the rules of routes.
 *
 * A rule given by its name has its overrides, and counts together with the routes on which it has
 * `scope: 'shared'`. `{ route: [LoginController, 'login'], rule: 'default' }` is the counter of a route. The
 * subject is written as a person would: an IP, a user's id, an API key; for several in `by` a list in their
 * order. Every operation throws a RateLimitConfigError if there is no such rule or route, the rule depends on
 * the request, or it is not one for that operation.
 *
 * @example `await limits.reset({ route: [LoginController, 'login'] }, '203.0.113.7')`
 */
export class RateLimitService extends RateLimiter {
  private readonly named = new Map<string, ProgramRule>();
  private readonly ofRoutes = new WeakMap<RouteLimit, ProgramRule>();

  constructor(
    options: RateLimiterOptions,
    private readonly book: RuleBook,
    private readonly routes: Routes,
    private readonly warnings: Warnings,
  ) {
    super(options);
  }

  override consume(
    rules: Rules<OrRoute<Rule>>,
    subject: SubjectValue,
    options?: HitOptions,
  ): Promise<Decision> {
    return super.consume(rules as Rules<Rule>, subject, options);
  }

  override peek(
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    options?: HitOptions,
  ): Promise<Decision> {
    return super.peek(rules as Rules<AnyRule>, subject, options);
  }

  override reserve(
    rules: Rules<OrRoute<Rule>>,
    subject: SubjectValue,
    options?: HitOptions,
  ): Promise<Reservation> {
    return super.reserve(rules as Rules<Rule>, subject, options);
  }

  override acquire(
    rule: OrName<QueueRule>,
    subject: SubjectValue,
    options?: AcquireOptions,
  ): Promise<Decision> {
    return super.acquire(rule as QueueRule, subject, options);
  }

  override enter(rule: OrName<LeaseRule>, subject: SubjectValue, options?: HitOptions): Promise<Permit> {
    return super.enter(rule as LeaseRule, subject, options);
  }

  override block(rule: OrRoute<BlockingRule>, subject: SubjectValue, duration: Duration): Promise<void> {
    return super.block(rule as BlockingRule, subject, duration);
  }

  override reset(rules: Rules<OrRoute<AnyRule>>, subject: SubjectValue): Promise<boolean> {
    return super.reset(rules as Rules<AnyRule>, subject);
  }

  /** The same as `consume` by the rule's name. */
  check(name: string, subject: SubjectValue, options?: HitOptions): Promise<Decision> {
    return this.consume(name, subject, options);
  }

  protected override hitsOf(
    operation: Operation,
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    cost: number | undefined,
  ): readonly RuleHit[] {
    if (!Array.isArray(rules)) return this.hitsOfOne(operation, rules as OrRoute<AnyRule>, subject, cost);
    const hits = (rules as readonly OrRoute<AnyRule>[]).flatMap((rule) =>
      this.hitsOfOne(operation, rule, subject, cost),
    );
    checkTogether(hits);
    return hits;
  }

  protected override placed(compiled: CompiledRule, rule: AnyRule): KeyedRule {
    warnOfLargeLog(this.warnings, { ...rule }, compiled, 'a program');
    return super.placed(compiled, rule);
  }

  private hitsOfOne(
    operation: Operation,
    rule: OrRoute<AnyRule>,
    subject: SubjectValue,
    cost: number | undefined,
  ): readonly RuleHit[] {
    if (typeof rule !== 'string' && !isReference(rule)) return super.hitsOf(operation, rule, subject, cost);
    checkCost(cost);
    if (typeof rule === 'string') return this.ofName(rule).hits(operation, subject, cost);
    return this.ofRoute(rule).flatMap((each) => each.hits(operation, subject, cost));
  }

  /** @throws RateLimitConfigError if there is no rule of this name */
  private ofName(name: string): ProgramRule {
    const known = this.named.get(name);
    if (known) return known;
    const path = `rule "${name}"`;
    const fields = this.book.namedRule(name);
    if (!fields) throw new RateLimitConfigError([`${path}: not in the module's \`onDemand\` or \`rules\``]);
    const by = fields['by'] as By | readonly By[] | undefined;
    const rule = new ProgramRule(fields, by, path, (compiled) => this.keyed(compiled));
    this.named.set(name, rule);
    return rule;
  }

  /** @throws RateLimitConfigError if there is no such route or rule, or its rules count by different subjects */
  private ofRoute(reference: RouteReference): readonly ProgramRule[] {
    const limits = this.routes.find(reference);
    const [{ fields: first, owner }] = limits as [RouteLimit];
    if (limits.some(({ fields }) => !countsAlike(fields.by, first.by))) {
      const names = limits.map(({ name }) => `"${name}"`).join(', ');
      throw new RateLimitConfigError([
        `route ${owner}: its rules count by different subjects; name one as \`rule\`: ${names}`,
      ]);
    }
    return limits.map((limit) => this.ofLimit(limit));
  }

  private ofLimit(limit: RouteLimit): ProgramRule {
    const known = this.ofRoutes.get(limit);
    if (known) return known;
    const rule = new ProgramRule(limit.fields, limit.fields.by ?? 'ip', limit.path, limit.keyed);
    this.ofRoutes.set(limit, rule);
    return rule;
  }
}

function isReference(rule: AnyRule | RouteReference | null): rule is RouteReference {
  return typeof rule === 'object' && rule !== null && 'route' in rule;
}
