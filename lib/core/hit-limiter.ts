import type { Patience } from '../contracts/algorithm.js';
import type { Decision } from '../contracts/decision.js';
import type { Ask, Hit, Store } from '../contracts/store.js';
import { AcrossSlots } from './across-slots.js';
import { Allotments } from './allotments.js';
import { isPaid, type Charged } from './charge.js';
import { Decider } from './decider.js';
import { DecidedHit } from './decision.js';
import { DenyCache } from './deny-cache.js';
import { StoreFallback } from './fallback.js';
import { holdBack } from './hold-back.js';
import { Instances } from './instances.js';
import { Leases } from './leases.js';
import { Ledger } from './ledger.js';
import { RateLimitEvents } from './limiter-events.js';
import type { KeyedRule } from './keyed-rule.js';
import { LocalShare } from './local-share.js';
import { checkInstances, type LimiterOptions, type RefundOptions } from './limiter-options.js';
import { Permit } from './permit.js';
import { Keys } from './keys.js';
import type { RuleHit } from './rule-hit.js';
import type { CompiledRule } from './compiled-rule.js';

/** Decides hits of compiled rules, and does what a decision leaves to do. */
export abstract class HitLimiter {
  protected readonly store: Store;
  /** Counts while the store cannot. */
  protected readonly local: LocalShare;
  protected readonly keys: Keys;
  private readonly denials: DenyCache | undefined;
  protected readonly allotments: Allotments | undefined;
  private readonly decider: Decider;
  private readonly instances: Instances;
  protected readonly ledger: Ledger;
  private readonly leases: Leases<Charged>;
  private closing: Promise<void> | undefined;
  /** What happens in it, for logs and metrics. */
  readonly events = new RateLimitEvents();

  /** @throws RateLimitConfigError if the prefix or `instances` is not as allowed */
  constructor(options: LimiterOptions) {
    const {
      store,
      prefix = 'rl:',
      onStoreError = 'local',
      instances = 1,
      openFallback,
      denyCache = true,
    } = options;
    checkInstances(instances);
    this.store = store;
    this.keys = new Keys(prefix, store.clock);
    const failed = (error: unknown): void => this.events.storeFailed(error);
    const { keys } = this;
    // Without a server there is no count either: that is no news.
    const uncounted = (error: unknown): void => {
      if (this.events.openCircuits.size === 0) failed(error);
    };
    this.instances = new Instances(store, keys.shared('instances'), keys.instance, instances, uncounted);
    this.local = new LocalShare(openFallback, () => this.instances.count);
    const fallback = new StoreFallback(onStoreError, this.local);
    this.denials = denyCache && store.follow ? new DenyCache(store, prefix) : undefined;
    this.ledger = new Ledger(failed);
    // Nobody takes ahead from a store that nobody else asks.
    this.allotments = store.heartbeat ? new Allotments(store, prefix, this.ledger) : undefined;
    const { ledger, denials, allotments } = this;
    const acrossSlots = new AcrossSlots(store, fallback, ledger, failed);
    this.decider = new Decider(store, fallback, acrossSlots, failed, denials, allotments);
    this.leases = new Leases<Charged>((renewals) => this.ledger.amend(renewals));
    store.watch?.((change) => this.events.storeChanged(change));
    this.instances.start();
  }

  /**
   * Decides hits that may differ in subject, all or nothing: at once if the store answers at once. Never
   * fails because of the store.
   */
  decide(
    ruleHits: readonly RuleHit[],
    ask: { readonly dryRun?: boolean; readonly patience?: Patience } = {},
  ): Decision | Promise<Decision> {
    if (ask.dryRun || !this.events.followsDecisions) return this.decider.decide(ruleHits, ask);
    return this.decideAndTell(ruleHits, ask);
  }

  /**
   * Gives back what a decision has charged, once: never more than that, and nothing where the charge
   * is gone by itself already.
   *
   * @returns whether there was anything to give back
   */
  async refund(decision: Decision, { onlyLast = false, rules }: RefundOptions = {}): Promise<boolean> {
    const charge = DecidedHit.chargeOf(decision);
    const isMeant = (hit: Hit, index: number): boolean =>
      isPaid(hit) && (rules === undefined || rules.includes(decision.decisions[index]!.rule));
    const refunds = charge?.take(onlyLast ? 'refund-last' : 'refund', isMeant) ?? [];
    return (await this.ledger.amend(refunds)).includes(true);
  }

  /** What a decision holds by leases, renewed until it is released. */
  permit(decision: Decision): Permit {
    const held =
      DecidedHit.chargeOf(decision)?.take('renew', (hit) => hit.lease !== undefined && isPaid(hit)) ?? [];
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
  keyed(rule: CompiledRule, owner?: string): KeyedRule {
    return this.keys.keyed(rule, owner);
  }

  /** How many processes share the limits: those counted last, at least `instances`. */
  get instanceCount(): number {
    return this.instances.count;
  }

  /**
   * Gives back what was taken ahead, and stops renewing what is held, and counting for others. The store is
   * its owner's to close.
   */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    this.denials?.close();
    this.leases.close();
    await this.allotments?.close();
    await this.instances.stop();
  }

  private async decideAndTell(ruleHits: readonly RuleHit[], ask: Ask): Promise<Decision> {
    const startedAt = performance.now();
    const decision = await this.decider.decide(ruleHits, ask);
    const subjects = ruleHits.map(({ subject }) => subject);
    this.events.decided({ decision, subjects, durationMs: performance.now() - startedAt });
    return decision;
  }
}
