import type { Decision, RuleDecision } from '../contracts/decision.js';
import type { Duration } from '../contracts/duration.js';
import { durationOption, readOptions } from '../contracts/options.js';
import type { SubjectValue } from '../rules/subject.js';
import type { ReserveArguments, RuleNames, Rules, SettledCost, Operation } from '../limiter/operation.js';
import { confirmed } from '../limiter/rate-limit-store.error.js';
import { RateLimiter } from '../limiter/rate-limiter.js';
import type { CompiledRule, Cost, RuleHit } from '../rules/compiled-rule.js';
import type { KeyedRule } from '../rules/keyed-rule.js';
import type { ConsumeOptions, RateLimiterOptions, WaitOptions } from '../limiter/options.js';
import type { Permit } from '../limiter/permit.js';
import { RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { Reservation } from '../limiter/reservation.js';
import { checkTogether } from '../rules/rule-cache.js';
import type { AnyRule, BlockingRule, ConcurrencyRule, Rule } from '../rules/rule.js';
import { countBySameSubject } from './rules/by.js';
import { warnOfLargeLog } from './checks/route-checks.js';
import { ProgramRule, unknownRule } from './programs/program-rule.js';
import { changeOf } from '../live/change-of-rule.js';
import type { LiveRules } from '../live/live-rules.js';
import type { LiveState } from '../live/live-state.js';
import { endingAt, type LiveChange, type RouteLimit } from './request/route-limit.js';
import type { RouteReference, Routes } from './request/routes.js';
import type { By } from './rules/route-rule.js';
import type { RuleFields } from './rules/rule-layers.js';
import type { RuleBook } from './rules/rule-book.js';
import type { Warnings } from './warnings.js';

/** A rule, or the name of a rule in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/** A rule, the name of a rule in the module's `onDemand` or `rules`, or a route, which stands for its rules. */
export type OrRoute<Each, Name extends string = string> =
  (Each & { readonly name?: Name }) | Name | (string & {}) | RouteReference<Name>;

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
  private readonly named = new Map<string, ProgramRule>();
  private ofRoutes = new WeakMap<RouteLimit, ProgramRule>();

  /** @internal */
  constructor(
    options: RateLimiterOptions,
    private readonly book: RuleBook,
    private readonly routes: Routes,
    private readonly warnings: Warnings,
    /** Changes the module's rules while the application runs. */
    readonly rules: LiveRules,
    private readonly live: LiveState,
  ) {
    super(options);
    live.watch(() => {
      this.named.clear();
      this.ofRoutes = new WeakMap();
      this.rulesChanged();
    });
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
    const names = rules ?? this.book.optionRules().filter(isShared).map(nameOf);
    const peeked = names.flatMap((name) => {
      try {
        return this.ofName(name).hits('peek', subject, undefined);
      } catch (error) {
        if (rules || !(error instanceof RateLimitConfigError)) throw error;
        return []; // The rule counts by another subject, or depends on the request.
      }
    });
    if (peeked.length === 0) return [];
    checkTogether(peeked);
    return (await this.decide(peeked, { dryRun: true })).decisions;
  }

  override consume<Name extends string>(
    rules: Rules<OrRoute<Rule, Name>>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return super.consume(rules as Rules<Rule & { readonly name?: Name }>, subject, options);
  }

  override peek<Name extends string>(
    rules: Rules<OrRoute<AnyRule, Name>>,
    subject: SubjectValue,
    options?: ConsumeOptions<Name>,
  ): Promise<Decision> {
    return super.peek(rules as Rules<AnyRule & { readonly name?: Name }>, subject, options);
  }

  override reserve<
    Name extends string = never,
    Listed extends string = never,
    Settled extends RuleNames<Name, Listed> = never,
  >(
    rules: OrRoute<Rule, Name> | readonly OrRoute<Rule, Listed>[],
    subject: SubjectValue,
    ...options: ReserveArguments<Name, Listed, Settled>
  ): Promise<Reservation<SettledCost<Name, Listed, Settled>>> {
    return super.reserve<Name, Listed, Settled>(
      rules as Rules<Rule & { readonly name?: never }>,
      subject,
      ...options,
    );
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

  override block(rule: OrRoute<BlockingRule>, subject: SubjectValue, duration: Duration): Promise<void> {
    return super.block(rule as BlockingRule, subject, duration);
  }

  /**
   * Deletes the counters and blocks of a subject: its next request has the full limit. A rule by name or of a route has a
   * counter for each window that it can have: in the code, in its plans, in its live change and in the exception of the
   * subject.
   *
   * @param options.window the window of the counters, for a rule whose window is a function
   * @returns whether there was a counter or a block
   * @throws RateLimitConfigError if a rule is unknown or invalid, or its window is a function and none is given
   * @throws RateLimitStoreError if Redis did not confirm the reset; it then applies to the fallback of this process
   *   only
   */
  override async reset(
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    options?: ResetOptions,
  ): Promise<boolean> {
    const { window } = readOptions('reset', options, { window: durationOption });
    const given = (Array.isArray(rules) ? rules : [rules]) as readonly OrRoute<AnyRule>[];
    const hits = given.flatMap((rule) =>
      typeof rule === 'string' || isReference(rule)
        ? this.rulesOf(rule).flatMap((each) => each.hitsToReset(subject, window))
        : super.hitsOf('reset', rule, subject, undefined),
    );
    return (await this.resetHits(hits)).includes(true);
  }

  /**
   * The log states the fallbacks of the rules, which are known only later.
   *
   * @internal
   */
  protected override becomesReady(): boolean {
    return true;
  }

  /** @internal */
  protected override hitsOf(
    operation: Operation,
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    cost: Cost | undefined,
  ): readonly RuleHit[] {
    if (!Array.isArray(rules)) return this.hitsOfOne(operation, rules as OrRoute<AnyRule>, subject, cost);
    const hits = (rules as readonly OrRoute<AnyRule>[]).flatMap((rule) =>
      this.hitsOfOne(operation, rule, subject, cost),
    );
    checkTogether(hits);
    return hits;
  }

  /** @internal */
  protected override warnOnce(code: 'RL_PERMIT_DROPPED' | 'RL_SETTLED_IN_PART', message: string): void {
    this.warnings.warn(code, message);
  }

  /** @internal */
  protected override keyedRule(compiled: CompiledRule, rule: AnyRule): KeyedRule {
    warnOfLargeLog(this.warnings, { ...rule }, compiled, 'a program');
    return super.keyedRule(compiled, rule);
  }

  /**
   * The rule of each counter that a rule has: those of routes, and that of programs.
   *
   * @internal
   */
  rulesNamed(name: string): readonly ProgramRule[] {
    const ofRoutes = [...this.routes.all()].flat().filter((limit) => limit.name === name);
    const ofModule = this.book.optionNames.includes(name) ? [this.ofName(name)] : [];
    return [...ofRoutes.map((limit) => this.ofLimit(limit)), ...ofModule];
  }

  /**
   * Deletes counters and blocks, as `reset`.
   *
   * @internal
   * @throws RateLimitStoreError if Redis did not confirm it
   */
  resetHits(hits: readonly RuleHit[]): Promise<readonly boolean[]> {
    return confirmed('reset', () => this.store.reset(hits));
  }

  /**
   * Blocks the subject of a hit, as `block`.
   *
   * @internal
   * @throws RateLimitStoreError if Redis did not confirm it
   */
  blockHit(hit: RuleHit, microseconds: number): Promise<void> {
    return confirmed('block', () => this.store.block(hit, microseconds));
  }

  private hitsOfOne(
    operation: Operation,
    rule: OrRoute<AnyRule>,
    subject: SubjectValue,
    cost: Cost | undefined,
  ): readonly RuleHit[] {
    if (typeof rule !== 'string' && !isReference(rule)) return super.hitsOf(operation, rule, subject, cost);
    return this.rulesOf(rule).flatMap((each) => each.hits(operation, subject, cost));
  }

  private rulesOf(rule: string | RouteReference): readonly ProgramRule[] {
    return typeof rule === 'string' ? [this.ofName(rule)] : this.ofRoute(rule);
  }

  /** @throws RateLimitConfigError if there is no rule of this name */
  private ofName(name: string): ProgramRule {
    const known = this.named.get(name);
    if (known) return known;
    const path = `rule "${name}"`;
    const fields = this.book.namedRule(name);
    if (!fields) throw unknownRule(name, this.book.optionNames, this.routes);
    const by = fields['by'] as By | readonly By[] | undefined;
    const changes = this.live.changesOf(name);
    const keyed = (compiled: CompiledRule, counter?: string): KeyedRule =>
      this.keyed(compiled, undefined, counter);
    let rule: ProgramRule | undefined;
    for (const each of [...(changes ? [undefined] : []), ...this.live.replacedOf(name), changes]) {
      const live: Partial<LiveChange> & { fields: RuleFields } = each
        ? changeOf({ fields, by, keyed }, each, this.live.exceptions)
        : { fields };
      const ofRule = (compiled: CompiledRule): KeyedRule =>
        keyed(endingAt(live.until ?? Infinity, compiled), live.counter);
      rule = new ProgramRule(live.fields, by, path, ofRule, live.exceptions, rule);
    }
    this.named.set(name, rule!);
    return rule!;
  }

  /** @throws RateLimitConfigError if there is no such route or rule, or its rules count by different subjects */
  private ofRoute(reference: RouteReference): readonly ProgramRule[] {
    const limits = this.routes.find(reference);
    const [{ fields: first, owner }] = limits as [RouteLimit];
    if (limits.some(({ fields }) => !countBySameSubject(fields.by, first.by))) {
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
    let rule: ProgramRule | undefined;
    const declared = limit.declared === limit ? [] : [limit.declared];
    for (const each of [...declared, ...this.live.formsOf(limit), limit]) {
      const { by = 'ip' } = each.fields;
      rule = new ProgramRule(each.fields, by, each.path, each.keyed, each.exceptions, rule);
    }
    this.ofRoutes.set(limit, rule!);
    return rule!;
  }
}

function isShared(fields: RuleFields): boolean {
  return fields['scope'] === 'shared';
}

function nameOf(fields: RuleFields): string {
  return fields['name'] as string;
}

function isReference(rule: AnyRule | RouteReference | null): rule is RouteReference {
  return typeof rule === 'object' && rule !== null && 'route' in rule;
}
