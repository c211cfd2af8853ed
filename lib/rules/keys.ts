import { randomBytes } from 'node:crypto';
import type { Parameters } from '../contracts/algorithm.js';
import type { Clock } from '../contracts/clock.js';
import { costOfRule, type Cost } from './cost.js';
import { blockTail, keyHead, keyOf, keyTail, parametersOfSubject, PREFIX } from './key.js';
import { KeyedRule, HitCacheLimit } from './keyed-rule.js';
import type { RuleHit } from './rule-hit.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { CompiledRule } from './compiled-rule.js';
import { copyOf, copyOfText, type Subject } from './subject.js';

/** Builds the keys of counters, and the hits of rules. */
export class Keys {
  /** Unique name of this process, in the keys of rules with `per: 'instance'` and in the names of leases. */
  readonly instance = randomBytes(6).toString('hex');
  private readonly head: string;
  private readonly cacheLimit = new HitCacheLimit();
  private leases = 0;

  /**
   * @param clock an estimate of the store's time, for rules whose parameters depend on it
   * @throws RateLimitConfigError if the prefix is invalid
   */
  constructor(
    private readonly prefix: string,
    private readonly clock: Clock,
  ) {
    if (!PREFIX.accepts(prefix)) throw new RateLimitConfigError([problem('prefix', prefix, PREFIX.allowed)]);
    this.head = keyHead(prefix);
  }

  /**
   * Returns a rule, with its trial limit, that builds hits for any subject.
   *
   * @param owner the route that the counters belong to; absent if routes share them
   * @param counter name of the counters that a live change has started; absent if there are none
   */
  keyed(rule: CompiledRule, owner?: string, counter?: string): KeyedRule {
    const rules = rule.trial ? [rule, rule.trial] : [rule];
    const keyTails = rules.map((each) => {
      const instance = each.perInstance ? this.instance : undefined;
      return {
        rule: each,
        tail: keyTail(each, owner, instance, counter),
        ofBlock: each.block === undefined ? undefined : blockTail(each, owner, instance),
      };
    });
    const isLasting = rules.every(({ algorithm, parametersAt }) => !algorithm.leases && !parametersAt);
    const hitsOf = (subject: Subject, cost?: Cost): readonly RuleHit[] =>
      keyTails.map((tails) =>
        this.hit(tails, owner, subject, costOfRule(cost, tails.rule) ?? tails.rule.cost),
      );
    return new KeyedRule(hitsOf, isLasting ? this.cacheLimit : undefined);
  }

  /** Returns a key that all processes share and that belongs to no subject. */
  shared(name: string): string {
    return `${this.prefix}{${name}}`;
  }

  private hit(
    { rule, tail, ofBlock }: { rule: CompiledRule; tail: string; ofBlock: string | undefined },
    route: string | undefined,
    subject: Subject,
    cost: number,
  ): RuleHit {
    const { algorithm, shadow } = rule;
    // Nothing but copies from here on: a key that is not a copy keeps the string that the subject is a part of.
    const copied = typeof subject === 'string' ? subject : subject.map(copyOfText);
    const key = keyOf(this.head, rule.bySubject ? rule.name : copied, tail);
    const kept = copyOf(copied, key, this.head.length);
    return {
      rule,
      subject: kept,
      route,
      key,
      algorithm,
      parameters: this.parametersOf(rule, kept),
      block:
        ofBlock === undefined
          ? undefined
          : { key: keyOf(this.head, rule.bySubject ? rule.name : kept, ofBlock), duration: rule.block! },
      cost,
      shadow,
      lease: algorithm.leases ? `${this.instance}-${++this.leases}` : undefined,
    };
  }

  private parametersOf(rule: CompiledRule, subject: Subject): Parameters {
    const { parameters, parametersAt } = rule;
    if (rule.bySubject) return { ...parameters, ...parametersOfSubject(rule, subject) };
    return parametersAt === undefined ? parameters : parametersAt(this.clock());
  }
}
