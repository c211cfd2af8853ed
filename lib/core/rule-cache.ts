import { compileRule } from './compile-rule.js';
import { RULE_FIELDS } from './rule-fields.js';
import type { Subject } from './key.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import type { KeyedRule } from './keyed-rule.js';
import type { RuleHit } from './rule-hit.js';
import type { CompiledRule } from './compiled-rule.js';
import type { AnyRule } from './rule.js';

/** Rules as programs give them, each object checked and compiled once. */
export class RuleCache {
  private readonly compiled = new WeakMap<AnyRule, KeyedRule>();

  /** @param place see `RateLimiter.keyed` */
  constructor(private readonly place: (rule: CompiledRule) => KeyedRule) {}

  /**
   * The hits of a subject on one rule or several.
   *
   * @throws RateLimitConfigError if a rule, the subject or the cost is wrong, or two rules have one name
   */
  hits(rules: AnyRule | readonly AnyRule[], subject: Subject, cost?: number): readonly RuleHit[] {
    if (cost !== undefined && !RULE_FIELDS.cost.accepts(cost)) {
      throw new RateLimitConfigError([problem('cost', cost, RULE_FIELDS.cost.allowed)]);
    }
    if (!isSubject(subject)) {
      throw new RateLimitConfigError([problem('subject', subject, 'a string, or a list of strings')]);
    }
    if (!isList(rules)) return this.keyed(rules).hits(subject, cost);
    const hits: RuleHit[] = [];
    for (const rule of rules) {
      for (const hit of this.keyed(rule).hits(subject, cost)) hits.push(hit);
    }
    refuseEqualNames(hits);
    return hits;
  }

  /** The rule ready for any subject, and its candidate if it has one. */
  private keyed(rule: AnyRule): KeyedRule {
    const known = this.compiled.get(rule);
    if (known) return known;
    const keyed = this.place(compileRule(rule));
    this.compiled.set(rule, keyed);
    return keyed;
  }
}

function isList(rules: AnyRule | readonly AnyRule[]): rules is readonly AnyRule[] {
  return Array.isArray(rules);
}

/** @throws RateLimitConfigError if two rules have one name, or there is none */
function refuseEqualNames(hits: readonly RuleHit[]): void {
  const isSecond = ({ rule }: RuleHit, index: number): boolean =>
    hits.findIndex((hit) => hit.rule.name === rule.name) < index;
  if (hits.length > 0 && !hits.some(isSecond)) return;
  const names = hits.map(({ rule }) => rule.name);
  throw new RateLimitConfigError([problem('rules', names, 'one rule or more, each of another name')]);
}

/** Whatever its type says: a subject often comes from an untyped request. */
function isSubject(subject: unknown): boolean {
  if (typeof subject === 'string') return true;
  const parts: unknown[] = Array.isArray(subject) ? subject : [subject];
  return parts.length > 0 && parts.every((part) => typeof part === 'string');
}
