import { randomBytes } from 'node:crypto';
import type { Parameters } from '../contracts/algorithm.js';
import type { Clock } from '../contracts/clock.js';
import type { Block, Counter, Hit } from '../contracts/store.js';
import { keyHead, keyOf, keyTail, PREFIX, type Subject } from './key.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import type { CompiledRule } from './rule.js';

/** A rule with the part of its keys that is the same for every subject. */
export interface KeyedRule {
  readonly rule: CompiledRule;
  readonly tail: string;
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
  private readonly head: string;
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
    this.head = keyHead(prefix);
  }

  /**
   * The rule, and its candidate if it has one, ready for any subject.
   *
   * @param owner the route that the counters belong to, absent if they are shared
   */
  keyed(rule: CompiledRule, owner?: string): readonly KeyedRule[] {
    const tail = keyTail(rule, owner, rule.perInstance ? this.instance : undefined);
    const keyed = { rule, tail };
    return rule.candidate ? [keyed, ...this.keyed(rule.candidate, owner)] : [keyed];
  }

  /** Where something is that all processes share and no subject has. */
  shared(name: string): string {
    return `${this.prefix}{${name}}`;
  }

  counter({ rule, tail }: KeyedRule, subject: Subject): Counter {
    const key = keyOf(this.head, subject, tail);
    return { key, algorithm: rule.algorithm, parameters: this.parametersOf(rule), block: blockOf(rule, key) };
  }

  hit({ rule, tail, subject, cost }: RuleHit): Hit {
    const { algorithm, observe } = rule;
    const key = keyOf(this.head, subject, tail);
    return {
      key,
      algorithm,
      parameters: this.parametersOf(rule),
      block: blockOf(rule, key),
      cost,
      observe,
      lease: algorithm.leases ? `${this.instance}-${++this.leases}` : undefined,
    };
  }

  private parametersOf({ parameters, parametersAt }: CompiledRule): Parameters {
    return parametersAt === undefined ? parameters : parametersAt(this.clock());
  }
}

function blockOf({ block }: CompiledRule, key: string): Block | undefined {
  return block === undefined ? undefined : { key: `${key}:block`, duration: block };
}
