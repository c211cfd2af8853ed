import { Inject, Injectable } from '@nestjs/common';
import { quoted, rejectConfig, unknownName } from '../../contracts/rate-limit-config.error.js';
import type { Engine } from '../../limiter/engine.js';
import type { Operation, Rules } from '../../limiter/operation.js';
import type { Resolver } from '../../limiter/rate-limiter.js';
import type { CompiledRule, Cost, RuleHit } from '../../rules/compiled-rule.js';
import type { AnyRule } from '../../rules/rule.js';
import { checkTogether, type RuleCache } from '../../rules/rule-cache.js';
import type { SubjectValue } from '../../rules/subject.js';
import { warnOfLargeLog } from '../checks/route-checks.js';
import { Routes, type RouteReference } from '../request/routes.js';
import { countBySameSubject } from '../rules/by.js';
import { DeclaredRules } from '../rules/declared-rules.js';
import { RuleTable, type TableRule } from '../rules/rule-table.js';
import { Warnings } from '../warnings.js';

/** A rule, or the name of a rule in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/** A rule, the name of a rule in the module's `onDemand` or `rules`, or a route, which stands for its rules. */
export type OrRoute<Each, Name extends string = string> = Each | Name | RouteReference<Name>;

/** One of them, or a list. A list of names that are no literals has no type for each. */
export type OrRoutes<Each, Name extends string = string> =
  OrRoute<Each, Name> | readonly (OrRoute<Each, Name> | (string & {}))[];

/** The rules that programs name: those of the module and of routes, without a request. */
@Injectable()
export class ProgramRules implements Resolver {
  constructor(
    @Inject(DeclaredRules) private readonly declared: DeclaredRules,
    @Inject(RuleTable) readonly table: RuleTable,
    @Inject(Routes) private readonly routes: Routes,
    @Inject(Warnings) private readonly warnings: Warnings,
  ) {}

  /** Gives the rules the keys of an engine, which follows live changes. */
  follow(engine: Engine): void {
    this.table.keys = {
      cacheLimit: engine.keys.cacheLimit,
      keyed: (compiled, { owner = 'the module', route }, fields, counter) => {
        warnOfLargeLog(this.warnings, fields, compiled, owner);
        return engine.keyed(compiled, route, counter);
      },
    };
    this.table.changed = () => engine.rulesChanged();
  }

  hits(
    operation: Operation,
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
  ): readonly RuleHit[] {
    const hits: RuleHit[] = [];
    for (const rule of [rules].flat() as readonly OrRoute<AnyRule>[]) {
      if (typeof rule === 'string' || isReference(rule)) {
        for (const each of this.rulesOf(rule)) hits.push(...each.hits(operation, subject, cost));
      } else hits.push(...plain.hits(rule, subject, cost));
    }
    if (Array.isArray(rules)) checkTogether(hits);
    return hits;
  }

  knows(name: string): boolean {
    return this.table.rulesNamed(name).length > 0;
  }

  warn(...[code, message]: Parameters<Resolver['warn']>): void {
    this.warnings.warn(code, message);
  }

  compiled(rule: AnyRule, compiled: CompiledRule): void {
    warnOfLargeLog(this.warnings, { ...rule }, compiled, 'a program');
  }

  /** @throws RateLimitConfigError if the name or the route is unknown */
  rulesOf(rule: string | RouteReference): readonly TableRule[] {
    return typeof rule === 'string' ? [this.ofName(rule)] : this.ofRoute(rule);
  }

  /** @throws RateLimitConfigError if there is no rule of this name */
  ofName(name: string): TableRule {
    this.declared.usedByPrograms.add(name);
    const rule = this.table.ofName(name);
    if (rule) return rule;
    rejectConfig(unknownRule(name, this.declared.optionNames, this.table.rulesNamed(name)));
  }

  /** @throws RateLimitConfigError if there is no such route or rule, or its rules count by different subjects */
  private ofRoute(reference: RouteReference): readonly TableRule[] {
    const rules = this.routes.find(reference);
    const [{ by, owner }] = rules as [TableRule];
    if (rules.every((rule) => countBySameSubject(rule.by, by))) return rules;
    const names = quoted(rules.map(({ name }) => name));
    rejectConfig(`route ${owner!}: its rules count by different subjects; name one as \`rule\`: ${names}`);
  }
}

/** Whether a program names a route. */
export function isReference(rule: AnyRule | RouteReference | null): rule is RouteReference {
  return typeof rule === 'object' && rule !== null && 'route' in rule;
}

/**
 * Returns the problem of a rule name that the module's options do not contain.
 *
 * @param known the names in the options
 * @param decorated the rules of this name on routes
 */
function unknownRule(
  name: string,
  known: readonly string[],
  [first, ...others]: readonly TableRule[],
): string {
  const path = `rule "${name}": not in the module's \`onDemand\` or \`rules\``;
  if (!first) return unknownName(path, name, known);
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const [, type, method] = /^(.*)\.(.*)$/.exec(first.owner!)!;
  return (
    `${path}, but only in a decorator (${first.owner!}${more}). Move it to \`onDemand\` and write ` +
    `@RateLimit("${name}"), or name a route: { route: [${type!}, '${method!}'], rule: "${name}" }`
  );
}
