import type { Decision } from '../contracts/decision.js';
import type { Hit, Store } from '../contracts/store.js';
import { decisionOf, ruleDecision } from './decision.js';
import { FailurePolicy, type OnStoreError, type StoreStateListener } from './failure-policy.js';
import { keyOf, keySuffix, type Subject } from './key.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import { compileRule, RULE_FIELDS, type CompiledRule, type Rule } from './rule.js';

export interface RateLimiterOptions {
  /** Where the state lives: a `MemoryStore` or a `RedisStore`. */
  readonly store: Store;
  /**
   * What every key begins with: 0 to 64 printable ASCII characters without braces and spaces.
   * @default 'rl:'
   */
  readonly prefix?: string;
  /**
   * What to answer when the store fails or does not answer in time.
   * @default 'allow'
   */
  readonly onStoreError?: OnStoreError;
  /** Is told when the store stops answering and when it answers again. */
  readonly listener?: StoreStateListener;
}

/** How one hit differs from what its rule says. */
export interface HitOptions {
  /** Permits this hit takes, an integer from 0 (asks only) to 1,000,000,000; the rule's `cost` unless given. */
  readonly cost?: number;
}

/** A compiled rule asked about a subject: what the limiter turns into a key and a hit. */
export interface RuleHit {
  readonly rule: CompiledRule;
  readonly suffix: string;
  readonly subject: Subject;
  readonly cost: number;
}

/** Limits anything: requests, jobs, outbound calls. Rules given together are decided all or nothing. */
export class RateLimiter {
  private readonly store: Store;
  private readonly prefix: string;
  private readonly policy: FailurePolicy;
  private readonly compiled = new WeakMap<Rule, { rule: CompiledRule; suffix: string }>();

  /** @throws RateLimitConfigError if the prefix is not as allowed */
  constructor({ store, prefix = 'rl:', onStoreError = 'allow', listener }: RateLimiterOptions) {
    if (typeof prefix !== 'string' || !/^[\x21-\x7a|~]{0,64}$/.test(prefix)) {
      const allowed = '0 to 64 printable ASCII characters without braces and spaces';
      throw new RateLimitConfigError([problem('prefix', prefix, allowed)]);
    }
    this.store = store;
    this.prefix = prefix;
    this.policy = new FailurePolicy(onStoreError, listener);
  }

  /**
   * Takes permits from every rule given, or from none if one of them denies.
   *
   * @param rules a rule or several of different names; each object is checked once and remembered
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async consume(
    rules: Rule | readonly Rule[],
    subject: Subject,
    options: HitOptions = {},
  ): Promise<Decision> {
    return this.decide(this.hits(rules, subject, options.cost));
  }

  /** Tells what `consume` would answer now, and charges nothing. */
  async peek(rules: Rule | readonly Rule[], subject: Subject, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.hits(rules, subject, options.cost), true);
  }

  /** Forgets what the subject has used of the rules: its next hit finds them fresh. */
  async reset(rules: Rule | readonly Rule[], subject: Subject): Promise<void> {
    await this.store.reset(this.hits(rules, subject).map((hit) => this.key(hit)));
  }

  /** Decides hits that may differ in subject, all or nothing. Never rejects because of the store. */
  async decide(hits: readonly RuleHit[], dryRun = false): Promise<Decision> {
    try {
      const verdicts = await this.store.decide(
        hits.map((hit) => this.storeHit(hit)),
        dryRun,
      );
      this.policy.succeeded();
      const decisions = hits.map(({ rule }, index) => ruleDecision(rule, verdicts[index]!));
      return decisionOf(decisions, this.store.source);
    } catch (error) {
      return this.policy.failed(
        error,
        hits.map(({ rule }) => rule),
      );
    }
  }

  private hits(rules: Rule | readonly Rule[], subject: Subject, cost?: number): RuleHit[] {
    if (cost !== undefined && !RULE_FIELDS.cost.accepts(cost)) {
      throw new RateLimitConfigError([problem('cost', cost, RULE_FIELDS.cost.allowed)]);
    }
    const list = (Array.isArray(rules) ? rules : [rules]) as readonly Rule[];
    const hits = list.map((rule) => {
      const compiled = this.compile(rule);
      return { ...compiled, subject, cost: cost ?? compiled.rule.cost };
    });
    const names = new Set(hits.map(({ rule }) => rule.name));
    if (names.size < hits.length || hits.length === 0) {
      const given = hits.map(({ rule }) => rule.name);
      throw new RateLimitConfigError([problem('rules', given, 'one rule or more, each of another name')]);
    }
    return hits;
  }

  private compile(rule: Rule): { rule: CompiledRule; suffix: string } {
    const known = this.compiled.get(rule);
    if (known) return known;
    const compiled = compileRule(rule);
    const entry = { rule: compiled, suffix: keySuffix(compiled) };
    this.compiled.set(rule, entry);
    return entry;
  }

  private storeHit(hit: RuleHit): Hit {
    const { algorithm, parameters } = hit.rule;
    return { key: this.key(hit), algorithm, parameters, cost: hit.cost };
  }

  private key({ suffix, subject }: RuleHit): string {
    return keyOf(this.prefix, subject, suffix);
  }
}
