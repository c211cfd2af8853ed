import type { Patience } from '../contracts/algorithm.js';
import { toMicroseconds } from '../contracts/clock.js';
import type { Decision } from '../contracts/decision.js';
import { DURATION_ALLOWED, parseDuration, type Duration } from '../contracts/duration.js';
import type { Hit, Store } from '../contracts/store.js';
import type { Charged } from './charge.js';
import { Decider } from './decider.js';
import { DecidedHit } from './decision.js';
import { DenyCache } from './deny-cache.js';
import { FailurePolicy } from './failure-policy.js';
import { holdBack } from './hold-back.js';
import { Instances } from './instances.js';
import type { Subject } from './key.js';
import { Leases } from './leases.js';
import { Ledger } from './ledger.js';
import { RateLimitEvents } from './limiter-events.js';
import { LocalShare } from './local-share.js';
import type { AcquireOptions, HitOptions, RateLimiterOptions, RefundOptions } from './limiter-options.js';
import { checkOperation, type Operation } from './operation.js';
import { Permit } from './permit.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import { Reservation } from './reservation.js';
import { RuleCache } from './rule-cache.js';
import { Keys, type KeyedRule, type RuleHit } from './rule-hit.js';
import type { BlockingRule, CompiledRule, LeaseRule, QueueRule, Rule, AnyRule } from './rule.js';

/** One rule, or several that are decided together. */
export type Rules<Each> = Each | readonly Each[];

/** A year, which no place in a queue is away. */
const ENDLESS_MS = 366 * 86_400e3;

/** Limits anything: requests, jobs, outbound calls. Rules given together are decided all or nothing. */
export class RateLimiter {
  private readonly store: Store;
  private readonly fallback: Store | undefined;
  private readonly keys: Keys;
  private readonly rules: RuleCache;
  private readonly policy: FailurePolicy;
  private readonly denials: DenyCache | undefined;
  private readonly decider: Decider;
  private readonly instances: Instances;
  private readonly ledger: Ledger;
  private readonly leases: Leases<Charged>;
  /** What happens in it, for logs and metrics. */
  readonly events = new RateLimitEvents();

  /** @throws RateLimitConfigError if the prefix is not as allowed, or `fallback` is missing */
  constructor(options: RateLimiterOptions) {
    const { store, prefix = 'rl:', onStoreError = 'allow', fallback, denyCache = true } = options;
    this.store = store;
    this.fallback = fallback;
    this.keys = new Keys(prefix, store.clock);
    this.instances = new Instances(store, this.keys.shared('instances'), this.keys.instance);
    const local = fallback && new LocalShare(fallback, () => this.instances.count);
    this.policy = new FailurePolicy(onStoreError, local);
    this.rules = new RuleCache((rule) => this.keyed(rule));
    this.denials = denyCache && store.follow ? new DenyCache(store, prefix) : undefined;
    const failed = (error: unknown): void => this.events.storeFailed(error);
    this.ledger = new Ledger(failed);
    this.decider = new Decider(store, this.keys, this.policy, this.ledger, failed, this.denials);
    this.leases = new Leases<Charged>((renewals) => this.ledger.amend(renewals));
    store.watch?.((change) => this.events.storeChanged(change));
  }

  /**
   * Takes permits from every rule given, or from none if one of them denies.
   *
   * @param rules a rule or several of different names; each object is checked once and remembered
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async consume(rules: Rules<Rule>, subject: Subject, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.hits('consume', rules, subject, options));
  }

  /** Tells what `consume` or `enter` would answer now, and changes nothing. */
  async peek(rules: Rules<AnyRule>, subject: Subject, options: HitOptions = {}): Promise<Decision> {
    return this.decide(this.rules.hits(rules, subject, options.cost), { dryRun: true });
  }

  /**
   * Takes permits for work whose cost is known only afterwards: `settle` it with the actual cost, or
   * `cancel` it. What is never settled stays charged as reserved, until it is gone by itself.
   *
   * @throws RateLimitConfigError if a rule or the cost is wrong
   */
  async reserve(rules: Rules<Rule>, subject: Subject, options: HitOptions = {}): Promise<Reservation> {
    const decision = await this.consume(rules, subject, options);
    return new Reservation(decision, async (actual) => {
      await this.ledger.settle(DecidedHit.chargeOf(decision)?.take('refund') ?? [], actual);
    });
  }

  /**
   * Takes permits as soon as they are there: reserves a place once and waits for it, first come first
   * served across processes. Answers a denial at once if the wait would exceed the timeout.
   *
   * @throws the signal's reason if it aborts; the place is given back if nobody stands behind it
   */
  async acquire(rule: QueueRule, subject: Subject, options: AcquireOptions = {}): Promise<Decision> {
    const { timeoutMs = ENDLESS_MS, signal } = options;
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) {
      throw new RateLimitConfigError([problem('timeoutMs', timeoutMs, 'a number from 0, in milliseconds')]);
    }
    signal?.throwIfAborted();
    const patience = Math.max(1, toMicroseconds(Math.min(timeoutMs, ENDLESS_MS)));
    const decision = await this.decide(this.hits('acquire', rule, subject, options), { patience });
    if (decision.delayMs > 0) await this.holdBack(decision, signal);
    return decision;
  }

  /**
   * Takes permits that are held until they are released: at most the limit at any time. Look at
   * `permit.allowed` before going on.
   *
   * @throws RateLimitConfigError if the rule or the cost is wrong
   */
  async enter(rule: LeaseRule, subject: Subject, options: HitOptions = {}): Promise<Permit> {
    return this.permit(await this.decide(this.hits('enter', rule, subject, options)));
  }

  /**
   * Gives back what a decision has charged, once: never more than that, and nothing where the charge
   * is gone by itself already.
   *
   * @returns whether there was anything to give back
   */
  async refund(decision: Decision, { onlyLast = false, rules }: RefundOptions = {}): Promise<boolean> {
    const charge = DecidedHit.chargeOf(decision);
    const isMeant = (_hit: Hit, index: number): boolean =>
      rules === undefined || rules.includes(decision.decisions[index]!.rule);
    const refunds = charge?.take(onlyLast ? 'refund-last' : 'refund', isMeant) ?? [];
    return (await this.ledger.amend(refunds)).includes(true);
  }

  /**
   * Blocks the subject from now for as long as said, whatever the rule would say meanwhile.
   *
   * @throws RateLimitConfigError if the rule or the duration is wrong
   */
  async block(rule: BlockingRule, subject: Subject, duration: Duration): Promise<void> {
    const microseconds = parseDuration(duration);
    if (microseconds === undefined) {
      throw new RateLimitConfigError([problem('duration', duration, DURATION_ALLOWED)]);
    }
    const counter = this.keys.counter(this.rules.keyed(rule)[0]!, subject);
    if (!counter.block)
      throw new RateLimitConfigError([problem('block', undefined, 'a duration, or "manual"')]);
    await this.store.block(counter, microseconds);
  }

  /** Forgets what the subject has used of the rules, and its blocks: its next hit finds them fresh. */
  async reset(rules: Rules<AnyRule>, subject: Subject): Promise<void> {
    await this.store.reset(this.rules.hits(rules, subject).map((hit) => this.keys.counter(hit, subject)));
  }

  /** Decides hits that may differ in subject, all or nothing. Never rejects because of the store. */
  async decide(
    ruleHits: readonly RuleHit[],
    ask: { readonly dryRun?: boolean; readonly patience?: Patience } = {},
  ): Promise<Decision> {
    const { events } = this;
    if (ask.dryRun || !events.followsDecisions) return this.decider.decide(ruleHits, ask);
    const startedAt = performance.now();
    const decision = await this.decider.decide(ruleHits, ask);
    const subjects = ruleHits.map(({ subject }) => subject);
    events.decided({ decision, subjects, durationMs: performance.now() - startedAt });
    return decision;
  }

  /** What a decision holds by leases, renewed until it is released. */
  permit(decision: Decision): Permit {
    const held = DecidedHit.chargeOf(decision)?.take('renew', ({ lease }) => lease !== undefined) ?? [];
    const lost = new AbortController();
    this.leases.hold(held, lost);
    return new Permit(decision, lost.signal, async () => {
      this.leases.drop(held);
      await this.ledger.amend(held.map((lease) => ({ ...lease, kind: 'refund' })));
    });
  }

  /**
   * Waits as long as a decision says its hit is to be held back.
   *
   * @throws the signal's reason if it aborts; the place is given back if nobody stands behind it
   */
  async holdBack(decision: Decision, signal?: AbortSignal): Promise<void> {
    try {
      await holdBack(decision.delayMs, signal);
    } catch (error) {
      await this.refund(decision, { onlyLast: true });
      throw error;
    }
  }

  /** Makes a compiled rule ready for any subject: itself, and its candidate if it has one. */
  keyed(rule: CompiledRule, owner?: string): readonly KeyedRule[] {
    if (this.policy.isLocal(rule)) this.countLocally();
    return this.keys.keyed(rule, owner);
  }

  /** Stops renewing what is held, and counting for others. The store is its owner's to close. */
  async close(): Promise<void> {
    this.denials?.close();
    this.leases.close();
    await this.instances.stop();
  }

  /** @throws RateLimitConfigError if there is nothing to count in */
  private countLocally(): void {
    if (!this.store.heartbeat) return; // nobody to share with, and nothing to fall back from
    if (!this.fallback) {
      throw new RateLimitConfigError(['fallback: missing; allowed with onStoreError "local": a MemoryStore']);
    }
    this.instances.start();
  }

  /** @throws RateLimitConfigError if a rule or the cost is wrong, or the rule is not one for the operation */
  private hits(
    operation: Operation,
    rules: Rules<AnyRule>,
    subject: Subject,
    { cost }: HitOptions,
  ): readonly RuleHit[] {
    const hits = this.rules.hits(rules, subject, cost);
    checkOperation(operation, hits);
    return hits;
  }
}
