import { Inject, Injectable } from '@nestjs/common';
import { RateLimitConfigError } from '../../contracts/rate-limit-config.error.js';
import type { Engine } from '../../limiter/engine.js';
import type { Operation, Rules } from '../../limiter/operation.js';
import type { Resolver } from '../../limiter/rate-limiter.js';
import { changeOf } from '../../live/change-of-rule.js';
import { LiveState } from '../../live/live-state.js';
import type { CompiledRule, Cost, RuleHit } from '../../rules/compiled-rule.js';
import type { KeyedRule } from '../../rules/keyed-rule.js';
import type { AnyRule } from '../../rules/rule.js';
import { checkTogether, type RuleCache } from '../../rules/rule-cache.js';
import type { SubjectValue } from '../../rules/subject.js';
import { warnOfLargeLog } from '../checks/route-checks.js';
import { endingAt, type LiveChange, type RouteLimit } from '../request/route-limit.js';
import { Routes, type RouteReference } from '../request/routes.js';
import { countBySameSubject } from '../rules/by.js';
import type { By } from '../rules/route-rule.js';
import { RuleBook } from '../rules/rule-book.js';
import type { RuleFields } from '../rules/rule-layers.js';
import { Warnings } from '../warnings.js';
import { ProgramRule, unknownRule } from './program-rule.js';

/** A rule, or the name of a rule in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/** A rule, the name of a rule in the module's `onDemand` or `rules`, or a route, which stands for its rules. */
export type OrRoute<Each, Name extends string = string> =
  (Each & { readonly name?: Name }) | Name | (string & {}) | RouteReference<Name>;

/** The rules that programs name: those of the module and of routes, without a request. */
@Injectable()
export class ProgramRules implements Resolver {
  private readonly named = new Map<string, ProgramRule>();
  private ofRoutes = new WeakMap<RouteLimit, ProgramRule>();
  private engine: Engine | undefined;

  constructor(
    @Inject(RuleBook) private readonly book: RuleBook,
    @Inject(Routes) private readonly routes: Routes,
    @Inject(LiveState) private readonly live: LiveState,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /** Gives the rules the keys of an engine, and follows live changes. */
  follow(engine: Engine): void {
    this.engine = engine;
    this.live.watch(() => {
      this.named.clear();
      this.ofRoutes = new WeakMap();
      engine.rulesChanged();
    });
  }

  hits(
    operation: Operation,
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
  ): readonly RuleHit[] {
    if (!Array.isArray(rules))
      return this.hitsOfOne(operation, rules as OrRoute<AnyRule>, subject, cost, plain);
    const hits = (rules as readonly OrRoute<AnyRule>[]).flatMap((rule) =>
      this.hitsOfOne(operation, rule, subject, cost, plain),
    );
    checkTogether(hits);
    return hits;
  }

  warn(code: 'RL_PERMIT_DROPPED' | 'RL_SETTLED_IN_PART', message: string): void {
    this.warnings.warn(code, message);
  }

  compiled(rule: AnyRule, compiled: CompiledRule): void {
    warnOfLargeLog(this.warnings, { ...rule }, compiled, 'a program');
  }

  /**
   * The rule of each counter that a rule has: those of routes, and that of programs.
   */
  rulesNamed(name: string): readonly ProgramRule[] {
    const ofRoutes = [...this.routes.all()].flat().filter((limit) => limit.name === name);
    const ofModule = this.book.optionNames.includes(name) ? [this.ofName(name)] : [];
    return [...ofRoutes.map((limit) => this.ofLimit(limit)), ...ofModule];
  }

  private hitsOfOne(
    operation: Operation,
    rule: OrRoute<AnyRule>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
  ): readonly RuleHit[] {
    if (typeof rule !== 'string' && !isReference(rule)) return plain.hits(rule, subject, cost);
    return this.rulesOf(rule).flatMap((each) => each.hits(operation, subject, cost));
  }

  /** @throws RateLimitConfigError if the name or the route is unknown */
  rulesOf(rule: string | RouteReference): readonly ProgramRule[] {
    return typeof rule === 'string' ? [this.ofName(rule)] : this.ofRoute(rule);
  }

  /** @throws RateLimitConfigError if there is no rule of this name */
  ofName(name: string): ProgramRule {
    const known = this.named.get(name);
    if (known) return known;
    const path = `rule "${name}"`;
    const fields = this.book.namedRule(name);
    if (!fields) throw unknownRule(name, this.book.optionNames, this.routes);
    const by = fields['by'] as By | readonly By[] | undefined;
    const changes = this.live.changesOf(name);
    const keyed = (compiled: CompiledRule, counter?: string): KeyedRule =>
      this.engine!.keyed(compiled, undefined, counter);
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

/** Whether a program names a route. */
export function isReference(rule: AnyRule | RouteReference | null): rule is RouteReference {
  return typeof rule === 'object' && rule !== null && 'route' in rule;
}
