import { compileRule } from './compile-rule.js';
import { RULE_FIELDS } from './rule-fields.js';
import type { Subject } from './key.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import type { KeyedRule, RuleHit } from './rule-hit.js';
import type { AnyRule, CompiledRule } from './rule.js';

/** Rules as programs give them, each object checked and compiled once. */
export class RuleCache {
  private readonly compiled = new WeakMap<AnyRule, readonly KeyedRule[]>();

  /** @param place see `RateLimiter.keyed` */
  constructor(private readonly place: (rule: CompiledRule) => readonly KeyedRule[]) {}

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
    const hits: RuleHit[] = [];
    for (const { rule, tail } of this.keyedAll(rules)) {
      hits.push({ rule, tail, subject, cost: cost ?? rule.cost });
    }
    return hits;
  }

  /** The rule ready for any subject, and its candidate if it has one. */
  keyed(rule: AnyRule): readonly KeyedRule[] {
    const known = this.compiled.get(rule);
    if (known) return known;
    const keyed = this.place(compileRule(rule));
    this.compiled.set(rule, keyed);
    return keyed;
  }

  /** @throws RateLimitConfigError if two rules have one name, or there is none */
  private keyedAll(rules: AnyRule | readonly AnyRule[]): readonly KeyedRule[] {
    if (!Array.isArray(rules)) return this.keyed(rules as AnyRule);
    const keyed = (rules as readonly AnyRule[]).flatMap((rule) => this.keyed(rule));
    const names = keyed.map(({ rule }) => rule.name);
    if (names.length === 0 || new Set(names).size < names.length) {
      throw new RateLimitConfigError([problem('rules', names, 'one rule or more, each of another name')]);
    }
    return keyed;
  }
}

/** Whatever its type says: a subject often comes from an untyped request. */
function isSubject(subject: unknown): boolean {
  if (typeof subject === 'string') return true;
  const parts: unknown[] = Array.isArray(subject) ? subject : [subject];
  return parts.length > 0 && parts.every((part) => typeof part === 'string');
}
