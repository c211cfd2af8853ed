import { Inject, Injectable } from '@nestjs/common';
import { problemsOf, unknownName } from '../../contracts/rate-limit-config.error.js';
import { entryOf } from '../../contracts/entry-of.js';
import type { Cost, RuleHit } from '../../rules/compiled-rule.js';
import { DEFAULT_ALGORITHM } from '../../rules/rule.js';
import { missingFields } from '../../rules/rule-fields.js';
import type { Subject } from '../../rules/subject.js';
import { countBySameSubject } from './by.js';
import { EffectiveRule, type RuleKeys, type RulePlace } from './effective-rule.js';
import type { RouteRuleFields, CountedBy } from './route-rule.js';
import { DeclaredRules } from './declared-rules.js';
import { loaded, varies } from './named-parts.js';
import type { VariedRule } from './varied-rule.js';
import type { HeldRule, RuleChanges } from './rule-changes.js';
import { ROUTE_FIELDS, type RuleFields, withoutIdlePlan } from './rule-layers.js';

/** Maximum number of replaced changes of a rule whose counters are still known. */
const MOST_REPLACED = 5;

type DeclaredFields = RuleFields & RouteRuleFields & { readonly name: string };

/** A rule of the module or of a route: as the code declares it, and as live changes have it now. */
export class TableRule implements RulePlace {
  readonly name: string;
  /** The name of the rule in messages. */
  readonly path: string;
  /** The option `by` of the rule; `undefined` if programs may pass any subject. */
  readonly by: CountedBy | undefined;
  /** The rule without live changes. */
  readonly declared: EffectiveRule;
  /** The rule with its live changes. */
  current: EffectiveRule;
  changes: RuleChanges | undefined;
  /** The rule with changes that others have replaced. */
  replaced: readonly EffectiveRule[] = [];

  /**
   * @param owner the handler in messages, such as `OrdersController.list`; absent for a rule of the module
   * @param route the route that the counter belongs to, in keys; absent if routes share it
   * @throws RateLimitConfigError if the rule is invalid
   */
  constructor(
    fields: RuleFields,
    readonly keys: RuleKeys,
    readonly owner?: string,
    readonly route?: string,
  ) {
    const declared = withoutIdlePlan(fields) as DeclaredFields;
    this.name = declared.name;
    this.path = `rule "${this.name}"${owner === undefined ? '' : ` of ${owner}`}`;
    this.by = declared.by ?? (owner === undefined ? undefined : 'ip');
    const Rule = varies(declared) ? loaded.variation!.VariedRule : EffectiveRule;
    this.current = this.declared = new Rule(declared, this);
  }

  /**
   * Returns the rule with live changes.
   *
   * @throws RateLimitConfigError if the change for all subjects does not fit the rule, or the subject of an exception
   */
  changedBy(changes: RuleChanges): VariedRule {
    const { VariedRule, changedFields } = loaded.variation!;
    const fields = changedFields(this.declared.fields, changes);
    return new VariedRule(fields as DeclaredFields, this, changes);
  }

  /** Puts live changes in force instead of the last ones. */
  change(changes: RuleChanges | undefined): void {
    if (changes === this.changes) return;
    const next = changes ? this.changedBy(changes) : this.declared;
    if (this.changes) this.replaced = [...this.replaced, this.current].slice(-MOST_REPLACED);
    this.changes = changes;
    this.current = next;
  }

  /** The fields that depend on a request. Programs have no request. */
  get dynamic(): readonly string[] {
    const { dynamic, fields } = this.current;
    return fields.plan === undefined ? dynamic : [...dynamic, 'plan'];
  }

  /** Returns the hits of a subject as the guard finds it. */
  hitsOf(subject: Subject, cost: Cost | undefined): readonly RuleHit[] {
    const { own } = this.current;
    const rule = this.current.exceptionOf(subject) ?? own;
    if (rule !== 'allow') return rule.hits(subject, cost);
    return own.hits(subject, 0).map((hit) => ({ ...hit, shadow: true, isExempt: true }));
  }
}

/** All changes of a rule. */
export function entriesOf({ layer, exceptions }: RuleChanges): readonly HeldRule[] {
  return layer ? [layer, ...exceptions] : exceptions;
}

/** The effective rule of each name and route: those of the module, and those of handlers. */
@Injectable()
export class RuleTable {
  /** Set before the first rule is used. */
  keys!: RuleKeys;
  private fieldsByName: ReadonlyMap<unknown, RuleFields> | undefined;
  private readonly ofModule = new Map<string, TableRule>();
  private readonly ofRoutes = new Map<string, Set<TableRule>>();
  private readonly sources = new Map<string, TableRule['by']>();
  /** The live changes that are in force. */
  changes: ReadonlyMap<string, RuleChanges> = new Map();
  /** Called after each live change. */
  changed = (): void => undefined;
  /** Called with the problems of a rule that is found after a live change, and that the change does not fit. */
  reject: (rule: string, problems: readonly string[]) => void = () => undefined;

  constructor(@Inject(DeclaredRules) private readonly declared: DeclaredRules) {}

  /** The rules of the module's options. Their keys contain no route. */
  get ofOptions(): readonly TableRule[] {
    return [...this.declared.everyRoute, ...this.declared.onDemandNames].map((name) => this.ofName(name)!);
  }

  /** The rules that were found so far. */
  get known(): readonly TableRule[] {
    return [...this.ofModule.values(), ...this.onRoutes];
  }

  /** The rules of routes. */
  get onRoutes(): readonly TableRule[] {
    return [...this.ofRoutes.values()].flatMap((rules) => [...rules]);
  }

  /** The rule of each counter that a rule has: those of routes, and that of programs. */
  rulesNamed(name: string): readonly TableRule[] {
    const ofModule = this.ofName(name);
    return [...(this.ofRoutes.get(name) ?? []), ...(ofModule ? [ofModule] : [])];
  }

  /** What the rules of this name count by; `undefined` if it differs between routes. */
  sourceOf(name: string): TableRule['by'] {
    if (!this.sources.has(name)) {
      const [first, ...others] = this.rulesNamed(name);
      const isSame = others.every(({ by }) => countBySameSubject(by, first?.by));
      this.sources.set(name, isSame ? first?.by : undefined);
    }
    return this.sources.get(name);
  }

  /** The rule of this name in the module's options. */
  ofName(name: string): TableRule | undefined {
    const known = this.ofModule.get(name);
    if (known) return known;
    this.fieldsByName ??= new Map(this.declared.optionRules().map((fields) => [fields['name'], fields]));
    const fields = this.fieldsByName.get(name);
    if (!fields) return undefined;
    const rule = new TableRule(fields, this.keys);
    this.ofModule.set(name, rule);
    this.follow(rule);
    return rule;
  }

  /**
   * Compiles a rule, and records its problems. Returns `undefined` if there are any.
   *
   * @param id the route; absent for a rule of the module
   */
  compile(fields: RuleFields, owner: string, id?: string): TableRule | undefined {
    const { declared, keys } = this;
    if (this.reportMissing(fields, owner) || declared.problems.size > 0) return undefined;
    const route = fields['scope'] === 'shared' ? undefined : id;
    let rule: TableRule | undefined;
    const compile = (): unknown =>
      (rule =
        id === undefined ? this.ofName(fields['name'] as string) : new TableRule(fields, keys, owner, route));
    declared.report(...problemsOf(compile));
    return rule;
  }

  /** Records the required fields that a rule lacks, and returns whether it lacks any. */
  private reportMissing(rule: RuleFields, owner: string): boolean {
    const { everyRoute, optionNames } = this.declared;
    const name = rule['name'] as string;
    const option = everyRoute.includes(name) ? 'rules' : 'onDemand';
    const path = optionNames.includes(name) ? `${option}.${name}` : `rule "${name}" of ${owner}`;
    if (!ROUTE_FIELDS['algorithm']!.accepts(rule['algorithm'] ?? DEFAULT_ALGORITHM)) return true;
    const missing = missingFields(path, rule, ROUTE_FIELDS);
    this.declared.report(...missing);
    return missing.length > 0;
  }

  /** Adds a rule of a route. */
  add(rule: TableRule): void {
    this.sources.delete(rule.name);
    const known = this.ofRoutes.get(rule.name) ?? new Set();
    this.ofRoutes.set(rule.name, known.add(rule));
    this.follow(rule);
  }

  remove(rule: TableRule): void {
    this.ofRoutes.get(rule.name)?.delete(rule);
  }

  /** Puts the live changes of each rule in force. Requests that are being decided keep their rules. */
  change(changes: ReadonlyMap<string, RuleChanges>): void {
    this.changes = changes;
    for (const rule of [...this.ofOptions, ...this.onRoutes]) this.follow(rule);
    this.changed();
  }

  /** Returns the problems of changes of a rule, wherever the rule applies. */
  problemsOf(rule: string, changes: RuleChanges): readonly string[] {
    return [...new Set([...this.misfits(rule, changes).values()].flatMap((problems) => [...problems]))];
  }

  /** Returns the changes of a rule that do not fit it, with their problems. */
  misfits(rule: string, changes: RuleChanges): ReadonlyMap<HeldRule, ReadonlySet<string>> {
    const { layer } = changes;
    const found = new Map<HeldRule, Set<string>>();
    const reject = (change: HeldRule, problems: readonly string[]): void => {
      for (const each of problems) entryOf(found, change, () => new Set<string>()).add(each);
    };
    const rules = this.rulesNamed(rule);
    if (rules.length === 0) {
      const unknown = `live rule "${rule}": no rule has this name`;
      for (const each of entriesOf(changes))
        reject(each, [unknownName(unknown, rule, this.declared.allNames)]);
    }
    const checked = new Set<string>();
    for (const each of rules) {
      const check = (): void =>
        each.changedBy({ layer, exceptions: [] }).checkExceptions(changes, checked, reject);
      const problems = problemsOf(check);
      if (layer) reject(layer, problems);
    }
    return found;
  }

  private follow(rule: TableRule): void {
    const problems = problemsOf(() => rule.change(this.changes.get(rule.name)));
    if (problems.length > 0) this.reject(rule.name, problems);
  }
}
