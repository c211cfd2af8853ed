import { algorithmOf, requiredFields } from '../core/compile-rule.js';
import { RateLimitConfigError } from '../core/rate-limit-config.error.js';
import { DEFAULT_RULE_NAME } from '../core/rule.js';
import { overridePath, readOverride, rulesNamed } from './overrides.js';
import type { RateLimitModuleOptions } from './rate-limit.options.js';
import type { TargetRules } from './rate-limit.decorator.js';
import { layerProblems, overlay, ROUTE_FIELDS, type LayeredRule, type RuleFields } from './rule-layers.js';

/** A class or a method with what its decorators say, and what a message calls it. */
export interface Target extends TargetRules {
  readonly path: string;
}

/**
 * Puts the rules of a route together: the module's, then those of each target from the outermost to
 * the handler, then the overrides. Collects what is wrong with any of them.
 */
export class RuleBook {
  readonly problems = new Set<string>();
  /** Every rule's name that has been met. */
  private readonly names = new Set<string>();

  constructor(private readonly options: RateLimitModuleOptions) {}

  /** The rules of a route by name, in the order in which their names first appear. */
  rulesFor(targets: readonly Target[]): RuleFields[] {
    const rules = new Map<string, LayeredRule>();
    const { rules: named = {}, defaults = {} } = this.options;
    const base = this.lay('defaults', {}, { ...defaults });
    for (const [name, rule] of Object.entries(named)) {
      this.put(rules, `rules.${name}`, { ...rule, name }, base);
    }
    for (const target of targets) this.apply(rules, target, base);
    return [...rules.values()].filter(({ skipped }) => !skipped).map(({ fields }) => this.override(fields));
  }

  /** The module's own rule of a name, for programs; it counts under its name alone. */
  namedRule(name: string): RuleFields | undefined {
    const rule = this.rulesFor([]).find((fields) => fields['name'] === name);
    return rule && { ...rule, scope: 'shared' };
  }

  /** Finds overrides for no rule or for several, once all routes have been seen. */
  checkOverrides(): void {
    for (const [name, fields] of Object.entries(this.options.overrides ?? {})) {
      const matches = rulesNamed(name, this.names);
      if (matches.length === 1) continue;
      const [field = 'limit'] = Object.keys(fields);
      const path = overridePath(name, fields)(field);
      const found =
        matches.length === 0
          ? `no rule is named "${name}"`
          : `several rules are named so: ${quoted(matches)}`;
      this.problems.add(
        `${path}: ${found}; allowed: ${quoted([...this.names]) || 'none, since there are no rules'}`,
      );
    }
  }

  /** @throws RateLimitConfigError naming everything that is wrong */
  throwIfWrong(): void {
    if (this.problems.size > 0) throw new RateLimitConfigError([...this.problems]);
  }

  private apply(rules: Map<string, LayeredRule>, target: Target, base: RuleFields): void {
    for (const [name, rule] of rules) {
      const skipped = target.skipped.includes('*') || target.skipped.includes(name);
      if (skipped) rules.set(name, { ...rule, skipped });
    }
    const own = new Set<string>();
    for (const rule of target.rules) {
      const { name = DEFAULT_RULE_NAME } = rule;
      if (own.has(name))
        this.problems.add(`${target.path}: two rules named "${name}"; allowed: each name once`);
      own.add(name);
      this.put(rules, target.path, { ...rule, name }, base);
    }
  }

  private put(rules: Map<string, LayeredRule>, path: string, layer: RuleFields, base: RuleFields): void {
    const name = layer['name'] as string;
    this.names.add(name);
    const fields = this.lay(path, rules.get(name)?.fields ?? base, layer);
    rules.set(name, { fields, skipped: false });
  }

  private override(rule: RuleFields): RuleFields {
    let fields = rule;
    for (const [name, override] of Object.entries(this.options.overrides ?? {})) {
      if (!rulesNamed(name, this.names).includes(rule['name'] as string)) continue;
      const given = { ...readOverride(override), name: rule['name'] };
      fields = this.lay(overridePath(name, override), fields, given);
    }
    return fields;
  }

  private lay(path: string | ((field: string) => string), rule: RuleFields, layer: RuleFields): RuleFields {
    const spell = typeof path === 'string' ? (field: string) => `${path}.${field}` : path;
    const algorithm = layer['algorithm'] ?? rule['algorithm'];
    for (const problem of layerProblems(spell, layer, algorithm)) this.problems.add(problem);
    return overlay(rule, layer);
  }
}

/** What a rule lacks to be decided: a limit, or a window. */
export function missingFields(rule: RuleFields): string[] {
  return requiredFields(algorithmOf(rule['algorithm'] as string | undefined))
    .filter((field) => rule[field] === undefined)
    .map((field) => `${field}: missing; allowed: ${ROUTE_FIELDS[field]!.allowed}`);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
