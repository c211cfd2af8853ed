import { isDeepStrictEqual } from 'node:util';
import type { Duration } from '../../contracts/duration.js';
import { entryOf } from '../../contracts/entry-of.js';
import { ifValid, quoted, rejectConfig, unknownName } from '../../contracts/rate-limit-config.error.js';
import { isFields } from '../../contracts/fields.js';
import type { Operation, Rules } from '../../limiter/operation.js';
import type { Resolver } from '../../limiter/program-operations.js';
import type { CompiledRule, Cost, RuleHit } from '../../rules/compiled-rule.js';
import type { AnyRule } from '../../rules/rule.js';
import { checkTogether, type RuleCache } from '../../rules/rule-cache.js';
import { loadAlgorithms } from '../../rules/rule-fields.js';
import { subjectForPrograms, type Subject, type SubjectValue } from '../../rules/subject.js';
import { warnOfLargeLog } from '../checks/route-checks.js';
import type { Routes, RouteReference } from '../request/routes.js';
import { countBySameSubject } from '../rules/by.js';
import type { DeclaredRules } from '../rules/declared-rules.js';
import { programSubject, type ProgramSubject } from '../rules/program-subject.js';
import type { RuleTable, TableRule } from '../rules/rule-table.js';
import type { Warnings } from '../warnings.js';

/** A rule, or the name of a rule in the module's `onDemand` or `rules`. */
export type OrName<Each> = Each | string;

/** A rule, the name of a rule in the module's `onDemand` or `rules`, or a route, which stands for its rules. */
export type OrRoute<Each, Name extends string = string> = Each | Name | RouteReference<Name>;

/** One of them, or a list. A list of names that are no literals has no type for each. */
export type OrRoutes<Each, Name extends string = string> =
  OrRoute<Each, Name> | readonly (OrRoute<Each, Name> | (string & {}))[];

/** Operations that need only keys, not a limit. */
const OF_ANY_LIMIT: readonly Operation[] = ['block', 'unblock', 'reset'];

const subjects = new WeakMap<TableRule, ProgramSubject>();

/**
 * Returns the subject of a rule that a program passes.
 *
 * @throws RateLimitConfigError if the rule counts by other subjects
 */
export function subjectOfProgram(rule: TableRule, given: SubjectValue): Subject {
  const { by, path, declared } = rule;
  return entryOf(subjects, rule, () => programSubject(by, declared.fields.ipv6Prefix ?? 64, path))(given);
}

/** Whether programs pass a subject of a rule as the guard finds it: the guard hashes values of headers. */
export function isPlain(rule: TableRule, subject: Subject): boolean {
  const read = ifValid(() => subjectOfProgram(rule, subjectForPrograms(subject)));
  return isDeepStrictEqual(read, subject);
}

/** The rules that programs name: those of the module and of routes, without a request. */
export class ProgramRules implements Resolver {
  constructor(
    private readonly declared: DeclaredRules,
    private readonly table: RuleTable,
    private readonly routes: Routes,
    private readonly warnings: Warnings,
  ) {}

  load(rules: unknown): Promise<void> | undefined {
    if (typeof rules === 'string') return undefined; // Rules with names are loaded at start.
    try {
      const named = [rules].flat().map((rule) => (isFields(rule) ? rule['algorithm'] : undefined));
      return loadAlgorithms(named.filter((name) => typeof name === 'string'));
    } catch {
      return undefined; // The operation reads the rules again and rejects.
    }
  }

  hits(
    operation: Operation,
    rules: Rules<OrRoute<AnyRule>>,
    subject: SubjectValue,
    cost: Cost | undefined,
    plain: RuleCache,
    window?: Duration,
  ): readonly RuleHit[] {
    const hits: RuleHit[] = [];
    for (const rule of [rules].flat() as readonly OrRoute<AnyRule>[]) {
      if (typeof rule === 'string' || isReference(rule)) {
        const named = typeof rule === 'string' ? [this.ofName(rule)] : this.ofRoute(rule);
        for (const each of named) hits.push(...hitsOf(operation, each, subject, cost, window));
      } else hits.push(...plain.hits(rule, subject, cost));
    }
    if (Array.isArray(rules) && operation !== 'reset') checkTogether(hits);
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

  /** @throws RateLimitConfigError if there is no rule of this name */
  private ofName(name: string): TableRule {
    const rule = this.table.ofName(name);
    if (!rule) rejectConfig(unknownRule(name, this.declared.optionNames, this.table.rulesNamed(name)));
    this.declared.usedByPrograms.add(name);
    return rule;
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

/**
 * Returns the hits of a subject that a program passes. A reset needs a hit for each key that the rule can have.
 *
 * @throws RateLimitConfigError if the subject is invalid, or the operation needs a field that depends on a request
 */
function hitsOf(
  operation: Operation,
  rule: TableRule,
  given: SubjectValue,
  cost: Cost | undefined,
  window: Duration | undefined,
): readonly RuleHit[] {
  const { dynamic, path } = rule;
  if (dynamic.length > 0 && !OF_ANY_LIMIT.includes(operation)) {
    rejectConfig(`${path}: depends on the request: ${dynamic.join(' and ')} given as a function`);
  }
  const subject = subjectOfProgram(rule, given);
  return operation === 'reset' ? everyHit(rule, subject, window) : rule.hitsOf(subject, cost);
}

/**
 * Returns a hit for each key that a rule can have for a subject: its own, those of its plans and of the subject's
 * exception, and those of the rule in the code and of the live changes that were replaced.
 *
 * @param window the window of the counters, for a rule whose window is a function
 * @throws RateLimitConfigError if the window is a function and none is given
 */
export function everyHit(rule: TableRule, subject: Subject, window?: Duration): readonly RuleHit[] {
  const rules = [rule.current, ...rule.replaced, rule.declared];
  if (window === undefined && rules.some(({ dynamic }) => dynamic.includes('window'))) {
    rejectConfig(
      `${rule.path}: its window is a function, and each window has its own counters; name one: reset(…, { window: '1m' })`,
    );
  }
  const every = rules.flatMap((each) => each.every(subject, window));
  return eachOnce(every.flatMap((each) => each.hits(subject, 0)));
}

/** Each counter once. */
export function eachOnce(hits: readonly RuleHit[]): readonly RuleHit[] {
  return [...new Map(hits.map((hit) => [hit.key, hit])).values()];
}

/** Whether a program names a route. */
function isReference(rule: AnyRule | RouteReference | null): rule is RouteReference {
  return typeof rule === 'object' && rule !== null && 'route' in rule;
}

/**
 * Returns the problem of a rule name that the module's options do not contain.
 *
 * @param known the names in the options
 * @param decorated the rules of this name on routes
 */
function unknownRule(name: string, known: readonly string[], [first, ...more]: readonly TableRule[]): string {
  const path = `rule "${name}": not in the module's \`onDemand\` or \`rules\``;
  if (!first) return unknownName(path, name, known);
  const others = more.length > 0 ? ` and ${more.length} more` : '';
  const [, type, method] = /^(.*)\.(.*)$/.exec(first.owner!)!;
  return (
    `${path}, but only in a decorator (${first.owner!}${others}). Move it to \`onDemand\` and write ` +
    `@RateLimit("${name}"), or name a route: { route: [${type!}, '${method!}'], rule: "${name}" }`
  );
}
