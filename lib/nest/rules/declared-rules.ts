import { isFields } from '../../contracts/fields.js';
import { fieldProblems } from '../../rules/rule-fields.js';
import { problem, quoted, rejectAny, unknownName } from '../../contracts/rate-limit-config.error.js';
import { DEFAULT_RULE_NAME } from '../../rules/rule.js';
import { optionProblems, readableOptions, readModuleOptions } from './check-options.js';
import { loadForModule } from './named-parts.js';
import { overridePath, readTexts, rulesNamed, ofOverride } from './overrides.js';
import type { RateLimitModuleOptions } from '../rate-limit.options.js';
import { type RouteRule, RULED, type TransportName } from './route-rule.js';
import { BY_NAME, COMPLETE, MISUSED, skipProblem, skips, type TargetRules } from '../rate-limit.decorator.js';
import {
  type FieldName,
  readLayer,
  ROUTE_FIELDS,
  namedAt,
  type NamedOn,
  type RuleFields,
  withLayer,
  withoutLimit,
} from './rule-layers.js';

/** Rules after some layers, by name: their fields, and whether a layer has disabled them. */
type Rules = Map<string, { readonly fields: RuleFields; readonly skipped: boolean }>;

/** A class or method with the rules of its decorators, and its name in messages. */
export interface Target extends TargetRules {
  readonly path: string;
}

/**
 * Combines the rules of a route: those of the module, then those of each target from the outermost to the handler, then
 * the overrides. Collects all problems.
 */
export class DeclaredRules {
  problems: Set<string>;
  /** The fields of layers whose value is `undefined`, as messages name them. */
  readonly undefinedFields = new Set<string>();
  /** The names that programs have used. */
  readonly usedByPrograms = new Set<string>();
  /** The names of the module's rules, and of all rules of the routes seen so far. */
  private names: Set<string>;
  private skips = new Map<string, string>();
  private readonly options: RateLimitModuleOptions;

  /** Returns the rules of options, whose algorithms are loaded. */
  static async of(options: RateLimitModuleOptions): Promise<DeclaredRules> {
    await loadForModule(options);
    return new DeclaredRules(options, await optionProblems(options));
  }

  private constructor(options: RateLimitModuleOptions, problems: readonly string[]) {
    this.problems = new Set(problems);
    this.options = this.problems.size > 0 ? readableOptions(options) : options;
    this.names = new Set([...this.everyRoute, ...this.onDemandNames]);
  }

  /** The options, with strings of digits converted; none if they are wrong, since the application will not start. */
  get read(): RateLimitModuleOptions {
    return this.problems.size > 0 ? {} : readModuleOptions(this.options);
  }

  /** The rules of a route by name, in the order in which their names first appear. */
  rulesFor(targets: readonly Target[]): RuleFields[] {
    const rules: Rules = new Map();
    const base = this.base();
    for (const [name, rule] of Object.entries(this.options.rules ?? {})) {
      const fields = this.ofOptions(`rules.${name}`, base, name, rule);
      rules.set(name, { fields, skipped: false });
    }
    for (const target of targets) this.apply(rules, target, base, target === targets.at(-1));
    const applied = [...rules.values()].filter(({ skipped }) => !skipped);
    return applied.map(({ fields }) => this.override(fields));
  }

  /** The rules in the module's options: `rules` and `onDemand`. */
  optionRules(): RuleFields[] {
    const base = this.base();
    const names = this.onDemandNames;
    return [...this.rulesFor([]), ...names.map((name) => this.override(this.onDemand(name, base)!))];
  }

  /** The names of the rules in the module's options. */
  get optionNames(): readonly string[] {
    return [...this.onDemandNames, ...this.everyRoute];
  }

  /** The names of all rules: those of the module's options, and those of the routes seen so far. */
  get allNames(): readonly string[] {
    return [...new Set([...this.optionNames, ...this.names])];
  }

  /** Finds unknown and duplicate names once all routes have been seen. */
  checkNames(): void {
    for (const [name, fields] of Object.entries(this.options.overrides ?? {})) {
      const matches = rulesNamed(name, this.names);
      if (matches.length === 1) continue;
      const path = overridePath(name, fields)(Object.keys(fields)[0] ?? 'limit');
      const several = quoted(matches);
      const wrong = `${path}: several rules have this name: ${several}; name one of them otherwise`;
      this.problems.add(several ? wrong : this.unnamed(path, name));
    }
    for (const [name, path] of this.skips) {
      if (!this.names.has(name)) this.problems.add(this.unnamed(path, name));
    }
  }

  private unnamed(path: string, name: string, place = '', known: Iterable<string> = this.names): string {
    return unknownName(`${path}: no rule is named "${name}"${place}`, name, known);
  }

  /** The transports whose handlers all have the module's rules. */
  get ruledTransports(): readonly TransportName[] {
    return this.options.transports ?? RULED;
  }

  /** The names of the rules that apply to every route. */
  get everyRoute(): readonly string[] {
    return Object.keys(this.options.rules ?? {});
  }

  get onDemandNames(): readonly string[] {
    return Object.keys(this.options.onDemand ?? {});
  }

  /** Whether the options are those of rules, and there is no rule so far. */
  get lacksRules(): boolean {
    return this.names.size === 0 && ('rules' in this.options || 'defaults' in this.options);
  }

  /**
   * Combines the rules of a route that is found after start. If they are wrong, none of them is kept, so that other
   * routes are unaffected.
   *
   * @throws RateLimitConfigError listing all problems of these rules
   */
  later<Result>(compile: () => Result): Result {
    this.throwIfWrong(); // Nest calls no hook of a lazily loaded module that could check its options.
    const { names, skips } = this;
    [this.names, this.skips] = [new Set(names), new Map(skips)];
    try {
      const result = compile();
      this.checkNames();
      this.throwIfWrong();
      return result;
    } catch (error) {
      [this.problems, this.names, this.skips] = [new Set(), names, skips];
      throw error;
    }
  }

  /** Records problems: those that a check has found. */
  report(...found: readonly (string | undefined)[]): void {
    for (const each of found) if (each !== undefined) this.problems.add(each);
  }

  /** @throws RateLimitConfigError listing all problems */
  throwIfWrong(): void {
    rejectAny([...this.problems]);
  }

  private apply(rules: Rules, target: Target, base: RuleFields, isHandler: boolean): void {
    for (const [name, rule] of rules) {
      if (skips(target, name)) rules.set(name, { ...rule, skipped: true });
    }
    for (const name of target.skipped) {
      const path = target.path.replace('@RateLimit', '@SkipRateLimit');
      if (typeof name === 'string') this.skips.set(name, path);
      else if (typeof name !== 'symbol') this.problems.add(skipProblem(path, name));
    }
    const own = new Set<string>();
    for (const rule of target.rules) {
      if (!isFields(rule)) {
        this.problems.add(problem(target.path, rule, 'an object with fields of a rule'));
        continue;
      }
      if (MISUSED in rule) {
        this.problems.add(`${target.path}: ${String(rule[MISUSED])}`);
        continue;
      }
      const { name = DEFAULT_RULE_NAME }: RouteRule = rule;
      if (own.has(name))
        this.problems.add(`${target.path}: two rules named "${name}"; give one another name`);
      own.add(name);
      this.put(rules, target.path, { ...rule, name }, base, isHandler ? 'handler' : 'class');
    }
  }

  private base(): RuleFields {
    const { defaults = {} } = this.options;
    if ('name' in defaults)
      this.problems.add('defaults.name: has no effect; allowed: no name, since rules have one');
    return this.applyLayer('defaults', {}, { ...defaults });
  }

  private ofOptions(path: string, base: RuleFields, name: string, rule: object): RuleFields {
    this.rejectName(`${path}.name`, rule);
    return this.applyLayer(path, base, { ...rule, name });
  }

  /** The rule of this name in `onDemand`. */
  private onDemand(name: string, base: RuleFields): RuleFields | undefined {
    const { onDemand = {}, rules = {} } = this.options;
    if (!Object.hasOwn(onDemand, name)) return undefined;
    const path = `onDemand.${name}`;
    if (Object.hasOwn(rules, name))
      this.problems.add(`${path}: also in \`rules\`; allowed: a name in one of them`);
    return this.ofOptions(path, { scope: 'shared', ...base }, name, onDemand[name]!);
  }

  private put(rules: Rules, path: string, layer: RuleFields, base: RuleFields, place: NamedOn): void {
    const name = layer['name'] as string;
    const isFirst = !rules.has(name);
    const known = rules.get(name)?.fields ?? this.onDemand(name, base) ?? base;
    if (BY_NAME in layer && isFirst && known === base) {
      this.problems.add(this.unnamed(path, name, ' in `rules` or `onDemand`', this.optionNames));
      return;
    }
    this.names.add(name);
    const fields = this.applyLayer(path, COMPLETE in layer ? withoutLimit(known) : known, layer);
    rules.set(name, { fields: namedAt(fields, place), skipped: false });
  }

  private override(rule: RuleFields): RuleFields {
    let fields = rule;
    for (const [name, override] of Object.entries(this.options.overrides ?? {})) {
      if (!rulesNamed(name, this.names).includes(rule['name'] as string)) continue;
      const pathOf = overridePath(name, override);
      this.rejectName(pathOf('name'), override);
      fields = this.applyLayer(pathOf, fields, { ...readTexts(override), name: rule['name'] });
    }
    return fields;
  }

  private rejectName(path: string, fields: object): void {
    if ('name' in fields) this.problems.add(problem(path, fields.name, 'nothing, since the key is the name'));
  }

  private applyLayer(path: string | FieldName, rule: RuleFields, layer: RuleFields): RuleFields {
    const pathOf = typeof path === 'string' ? (field: string) => `${path}.${field}` : path;
    const algorithm = layer['algorithm'] ?? rule['algorithm'];
    const read = readLayer(layer, algorithm);
    for (const [field, value] of Object.entries(read))
      if (value === undefined) this.undefinedFields.add(pathOf(field));
    this.report(...fieldProblems(pathOf, read, ROUTE_FIELDS, algorithm).map(ofOverride));
    return withLayer(rule, read, typeof path === 'string' ? () => path : path);
  }
}
