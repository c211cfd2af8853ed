import { randomBytes } from 'node:crypto';
import type { Clock } from '../contracts/clock.js';
import type { Counter, Hit } from '../contracts/store.js';
import { keyOf, keySuffix, PREFIX, type Subject } from './key.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import type { CompiledRule } from './rule.js';

/** A rule with the part of its keys that is the same for every subject. */
export interface KeyedRule {
  readonly rule: CompiledRule;
  readonly suffix: string;
}

/** A rule asked about a subject. */
export interface RuleHit extends KeyedRule {
  readonly subject: Subject;
  readonly cost: number;
}

/** Spells keys: rules become counters, and counters with a cost become hits. */
export class Keys {
  /** Tells the counters of this process from those of others, for rules that each process has for itself. */
  readonly instance = randomBytes(6).toString('hex');
  private leases = 0;

  /**
   * @param clock about the store's time, for rules whose parameters change with it
   * @throws RateLimitConfigError if the prefix is not as allowed
   */
  constructor(
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {
    if (!PREFIX.accepts(prefix)) throw new RateLimitConfigError([problem('prefix', prefix, PREFIX.allowed)]);
  }

  /**
   * The rule, and its candidate if it has one, ready for any subject.
   *
   * @param owner the route that the counters belong to, absent if they are shared
   */
  keyed(rule: CompiledRule, owner?: string): readonly KeyedRule[] {
    const suffix = keySuffix(rule, owner, rule.perInstance ? this.instance : undefined);
    const keyed = { rule, suffix };
    return rule.candidate ? [keyed, ...this.keyed(rule.candidate, owner)] : [keyed];
  }

  /** Where something is that all processes share and no subject has. */
  shared(name: string): string {
    return `${this.prefix}{${name}}`;
  }

  counter({ rule, suffix }: KeyedRule, subject: Subject): Counter {
    const key = keyOf(this.prefix, subject, suffix);
    const { algorithm, block } = rule;
    const parameters = rule.parametersAt?.(this.clock()) ?? rule.parameters;
    if (block === undefined) return { key, algorithm, parameters };
    return { key, algorithm, parameters, block: { key: `${key}:block`, duration: block } };
  }

  hit(hit: RuleHit): Hit {
    const { rule, cost } = hit;
    const counted = { ...this.counter(hit, hit.subject), cost, observe: rule.observe };
    return rule.algorithm.leases ? { ...counted, lease: `${this.instance}-${++this.leases}` } : counted;
  }
}
