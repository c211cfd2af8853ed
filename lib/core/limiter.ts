import type { Patience, Verdict } from '../contracts/algorithm.js';
import { toMicroseconds } from '../contracts/clock.js';
import type { Decision } from '../contracts/decision.js';
import type { Amendment, Hit, Store } from '../contracts/store.js';
import { holdBack } from './hold-back.js';
import { compileRule, RULE_FIELDS } from './compile-rule.js';
import { DecidedHit, ruleDecision, type Charge } from './decision.js';
import { DURATION_ALLOWED, parseDuration, type Duration } from '../contracts/duration.js';
import { FailurePolicy, type OnStoreError, type StoreStateListener } from './failure-policy.js';
import type { Subject } from './key.js';
import { Leases } from './leases.js';
import { Permit } from './permit.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import { Reservation } from './reservation.js';
import { Keys, type KeyedRule, type RuleHit } from './rule-hit.js';
import type { BlockingRule, CompiledRule, LeaseRule, QueueRule, RateRule, Rule } from './rule.js';

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

/** How `acquire` waits. */
export interface AcquireOptions extends HitOptions {
  /**
   * Milliseconds to wait at the most; a longer wait is refused at once.
   * @default no limit
   */
  readonly timeoutMs?: number;
  /** Gives the place up when it aborts. */
  readonly signal?: AbortSignal;
}

type Rules<Each> = Each | readonly Each[];

/** Limits anything: requests, jobs, outbound calls. Rules given together are decided all or nothing. */
export class RateLimiter {
  private readonly store: Store;
  private readonly keys: Keys;
  private readonly policy: FailurePolicy;
  private readonly leases: Leases;
  private readonly compiled = new WeakMap<Rule, readonly KeyedRule[]>();

  /** @throws RateLimitConfigError if the prefix is not as allowed */
  constructor({ store, prefix = 'rl:', onStoreError = 'allow', listener }: RateLimiterOptions) {
    if (typeof prefix !== 'string' || !/^[\x21-\x7a|~]{0,64}$/.test(prefix)) {
      const allowed = '0 to 64 printable ASCII characters without braces and spaces';
      throw new RateLimitConfigError([problem('prefix', prefix, allowed)]);
    }
    this.store = store;
    this.keys = new Keys(prefix);
    this.policy = new FailurePolicy(onStoreError, listener);
    this.leases = new Leases((renewals) => this.amend(renewals));
  }

  /**
   * Takes permits from every rule given, or from none if one of them denies.
   *
   * @param rules a rule or several of different names; each object is checked once and remembered
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async consume(rules: Rules<RateRule>, subject: Subject, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.hits(rules, subject, options.cost));
  }

  /** Tells what `consume` or `enter` would answer now, and changes nothing. */
  async peek(rules: Rules<Rule>, subject: Subject, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.hits(rules, subject, options.cost), { dryRun: true });
  }

  /**
   * Takes permits for work whose cost is known only afterwards: `settle` it with the actual cost, or
   * `cancel` it. What is never settled stays charged as reserved, until it is gone by itself.
   *
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async reserve(rules: Rules<RateRule>, subject: Subject, options: HitOptions = {}): Promise<Reservation> {
    const hits = this.hits(rules, subject, options.cost);
    return new Reservation(await this.decide(hits), (charge, from, to) => this.settle(charge, from, to));
  }

  /**
   * Takes permits as soon as they are there: reserves a place once and waits for it, first come first
   * served across processes. Answers a denial at once if the wait would exceed the timeout.
   *
   * @throws the signal's reason if it aborts; the place is given back if nobody stands behind it
   */
  async acquire(rule: QueueRule, subject: Subject, options: AcquireOptions = {}): Promise<Decision> {
    const { cost, timeoutMs = Number.MAX_SAFE_INTEGER / 1e6, signal } = options;
    if (!(timeoutMs >= 0))
      throw new RateLimitConfigError([problem('timeoutMs', timeoutMs, 'a number from 0')]);
    signal?.throwIfAborted();
    const decision = await this.decide(this.hits(rule, subject, cost), {
      patience: toMicroseconds(timeoutMs),
    });
    if (decision.delayMs > 0) {
      await holdBack(decision.delayMs, signal).catch(async (reason: unknown) => {
        await this.refund(decision, { onlyLast: true });
        throw reason;
      });
    }
    return decision;
  }

  /**
   * Takes permits that are held until they are released: at most the limit at any time. Look at
   * `permit.allowed` before going on.
   *
   * @throws RateLimitConfigError if the rule or the cost is wrong
   */
  async enter(rule: LeaseRule, subject: Subject, options: HitOptions = {}): Promise<Permit> {
    return this.permit(await this.decide(this.hits(rule, subject, options.cost)));
  }

  /** What a decision holds by leases, renewed until it is released. */
  permit(decision: Decision): Permit {
    const charge = DecidedHit.takeCharge(decision);
    const held = charge ? amendmentsOf(charge, 'renew').filter(({ algorithm }) => algorithm.leases) : [];
    this.leases.hold(held);
    return new Permit(decision, async () => {
      this.leases.drop(held);
      await this.amend(held.map((lease) => ({ ...lease, kind: 'refund' })));
    });
  }

  /**
   * Gives back what a decision has charged, once: never more than that, and nothing where the charge
   * is gone by itself already.
   *
   * @param options.onlyLast give back only what nobody has been charged behind
   * @param options.rules the names of the rules to give back; all unless given
   * @returns whether there was anything to give back
   */
  async refund(
    decision: Decision,
    options: { onlyLast?: boolean; rules?: readonly string[] } = {},
  ): Promise<boolean> {
    const charge = DecidedHit.takeCharge(decision);
    if (!charge) return false;
    const names = options.rules && new Set(options.rules);
    const amendments = amendmentsOf(charge, options.onlyLast ? 'refund-last' : 'refund', (index) =>
      names ? names.has(decision.decisions[index]!.rule) : true,
    );
    return (await this.amend(amendments)).includes(true);
  }

  /** Blocks the subject from now for as long as said, whatever the rule would say meanwhile. */
  async block(rule: BlockingRule, subject: Subject, duration: Duration): Promise<void> {
    const microseconds = parseDuration(duration);
    if (microseconds === undefined)
      throw new RateLimitConfigError([problem('duration', duration, DURATION_ALLOWED)]);
    for (const keyed of this.compile(rule)) {
      const { block } = this.keys.counter(keyed, subject);
      if (block) await this.store.block({ key: block.key, duration: microseconds });
    }
  }

  /** Forgets what the subject has used of the rules, and its blocks: its next hit finds them fresh. */
  async reset(rules: Rules<Rule>, subject: Subject): Promise<void> {
    const counters = this.hits(rules, subject).map((hit) => this.keys.counter(hit, subject));
    await this.store.reset(counters.flatMap(({ key, block }) => (block ? [key, block.key] : [key])));
  }

  /** Makes a rule ready for any subject: itself, and its candidate if it has one. */
  keyed(rule: CompiledRule, owner?: string): readonly KeyedRule[] {
    return this.keys.keyed(rule, owner);
  }

  /** Decides hits that may differ in subject, all or nothing. Never rejects because of the store. */
  async decide(
    ruleHits: readonly RuleHit[],
    ask: { dryRun?: boolean; patience?: Patience } = {},
  ): Promise<Decision> {
    const hits = ruleHits.map((hit) => this.keys.hit(hit));
    try {
      const outcome = await this.store.decide(hits, ask);
      this.policy.succeeded();
      const decisions = ruleHits.map(({ rule }, index) => ruleDecision(rule, outcome.verdicts[index]!));
      return new DecidedHit(decisions, this.store.source, ask.dryRun ? undefined : { hits, outcome });
    } catch (error) {
      return this.policy.failed(
        error,
        ruleHits.map(({ rule }) => rule),
      );
    }
  }

  /** Stops renewing what is held. The store is its owner's to close. */
  close(): void {
    this.leases.close();
  }

  /** Never rejects because of the store, as `amend`. */
  private async settle(charge: Charge, reserved: number, actual: number): Promise<void> {
    if (actual < reserved) {
      const refunds = amendmentsOf(charge, 'refund');
      await this.amend(refunds.map((refund) => ({ ...refund, cost: reserved - actual })));
    } else if (actual > reserved) {
      await this.owe(chargedHits(charge).map(([hit]) => ({ ...hit, cost: actual - reserved })));
    }
  }

  private async owe(debts: readonly Hit[]): Promise<void> {
    try {
      await this.store.decide(debts, { patience: Infinity });
    } catch (error) {
      this.policy.noticed(error);
    }
  }

  /** Never rejects because of the store: what could not be amended is gone by itself in time. */
  private async amend(amendments: readonly Amendment[]): Promise<readonly boolean[]> {
    try {
      return amendments.length > 0 ? await this.store.amend(amendments) : [];
    } catch (error) {
      this.policy.noticed(error);
      return amendments.map(() => false);
    }
  }

  private hits(rules: Rules<Rule>, subject: Subject, cost?: number): RuleHit[] {
    if (cost !== undefined && !RULE_FIELDS.cost.accepts(cost)) {
      throw new RateLimitConfigError([problem('cost', cost, RULE_FIELDS.cost.allowed)]);
    }
    const list = (Array.isArray(rules) ? rules : [rules]) as readonly Rule[];
    const hits = list
      .flatMap((rule) => this.compile(rule))
      .map((keyed) => ({ ...keyed, subject, cost: cost ?? keyed.rule.cost }));
    const names = new Set(hits.map(({ rule }) => rule.name));
    if (names.size < hits.length || hits.length === 0) {
      const given = hits.map(({ rule }) => rule.name);
      throw new RateLimitConfigError([problem('rules', given, 'one rule or more, each of another name')]);
    }
    return hits;
  }

  private compile(rule: Rule): readonly KeyedRule[] {
    const known = this.compiled.get(rule);
    if (known) return known;
    const keyed = this.keys.keyed(compileRule(rule));
    this.compiled.set(rule, keyed);
    return keyed;
  }
}

/** The hits that were charged: an observed rule that denied was not. */
function chargedHits({ hits, outcome }: Charge): [hit: Hit, verdict: Verdict, index: number][] {
  return hits.flatMap((hit, index) => {
    const verdict = outcome.verdicts[index]!;
    return verdict.allowed && hit.cost > 0 ? [[hit, verdict, index]] : [];
  });
}

function amendmentsOf(
  charge: Charge,
  kind: Amendment['kind'],
  isMeant: (index: number) => boolean = () => true,
): Amendment[] {
  return chargedHits(charge)
    .filter(([, , index]) => isMeant(index))
    .map(([hit, { resetAfter }]) => ({
      ...hit,
      kind,
      receipt: hit.lease ?? charge.outcome.now + resetAfter,
    }));
}
