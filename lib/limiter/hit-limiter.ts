import type { Algorithm, MaxWait } from '../contracts/algorithm.js';
import { toMicroseconds } from '../contracts/clock.js';
import { checkDecision, type Decision } from '../contracts/decision.js';
import { readOptions } from '../contracts/options.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { Adjustment, BaseStore, DecideOptions, Hit, Store } from '../contracts/store.js';
import type { StoreCall } from '../contracts/store-fault.js';
import type { MaybePromise } from '../contracts/thenable.js';
import { Instances } from '../layers/fallback/instances.js';
import type { CompiledRule } from '../rules/compiled-rule.js';
import type { KeyedRule } from '../rules/keyed-rule.js';
import { Keys } from '../rules/keys.js';
import type { HitWait, RuleHit } from '../rules/rule-hit.js';
import { isPaid } from './charge.js';
import { DecidedHit, decisionOf } from './decision.js';
import { RateLimitEvents } from './events.js';
import { Leases } from './leases.js';
import { REFUND_OPTIONS, type LimiterOptions, type RefundOptions } from './options.js';
import { Permit } from './permit.js';
import { pipelineOf } from './pipeline.js';
import { AcquireLines } from './acquire-lines.js';
import { Waiters, type Wait } from './waiters.js';
import { sleep } from '../contracts/timer.js';

/** Decides hits of compiled rules, and provides refunds, permits and delays for the decisions. */
export abstract class HitLimiter {
  /** @internal */
  protected readonly base: BaseStore;
  /**
   * The store inside its layers.
   *
   * @internal
   */
  protected readonly store: Store<RuleHit>;
  /** @internal */
  protected readonly keys: Keys;
  /** @internal */
  protected readonly instances: Instances;
  private readonly leases: Leases<Adjustment>;
  private readonly waiters: Waiters;
  private readonly lines: AcquireLines;
  /**
   * One rule for each algorithm in use.
   *
   * @internal
   */
  protected readonly samples = new Map<Algorithm, KeyedRule>();
  private closing: Promise<void> | undefined;
  /** Events of this limiter, for logs and metrics. */
  readonly events = new RateLimitEvents();

  /** @internal */
  constructor(options: LimiterOptions) {
    const {
      store,
      prefix = 'rl:',
      onStoreError = 'local',
      instances = 1,
      openFallback,
      denyCache = true,
    } = options;
    this.base = store;
    this.keys = new Keys(prefix, store.clock);
    const { keys, events } = this;
    const failed = (error: unknown, call: StoreCall): void => events.storeFailed(error, call);
    // While a circuit breaker is open, a failed heartbeat is not reported again.
    const uncounted = (error: unknown): void => {
      if (events.openCircuits.size === 0) failed(error, 'heartbeat');
    };
    this.instances = new Instances(
      store.shared,
      keys.shared('instances'),
      keys.instance,
      instances,
      uncounted,
    );
    const { instances: count } = this;
    this.store = pipelineOf(store, {
      prefix,
      onStoreError,
      denyCache,
      openFallback: () => {
        const fallback = openFallback();
        this.waiters.followFallback(fallback);
        return fallback;
      },
      instances: count,
      failed,
    });
    this.lines = new AcquireLines(this.store);
    this.waiters = new Waiters(this.store, store, prefix, keys.instance);
    this.leases = new Leases<Adjustment>((renewals) => this.store.adjust(renewals));
    store.shared?.watch((change) => {
      this.events.storeChanged(change);
      this.waiters.wakeAll();
      this.lines.wakeAll();
    });
    this.instances.start();
    if (!this.becomesReady()) void this.instances.beat();
  }

  /**
   * Decides hits, which may have different subjects, all or nothing. Synchronous if the store decides synchronously. An
   * error of a shared store does not reject: the fallback decides.
   *
   * @internal
   */
  decide(
    hits: readonly RuleHit[],
    options: { readonly dryRun?: boolean; readonly maxWait?: MaxWait } = NOW,
  ): MaybePromise<Decision> {
    const { dryRun = false } = options;
    for (const { wait } of hits) if (wait && !dryRun) return this.decideWaiting(hits, waitOf(hits, wait));
    if (this.events.followsDecisions && !dryRun) return this.decideAndEmit(hits, options);
    const results = this.store.decide(hits, options);
    return results instanceof Promise
      ? results.then((found) => decisionOf(hits, found, dryRun))
      : decisionOf(hits, results, dryRun);
  }

  /**
   * Decides hits; those of leases with `waits` wait for their permits, first come, first served.
   *
   * @internal
   * @throws the signal's reason if it aborts
   */
  async decideInTurn(hits: readonly RuleHit[], wait: Wait): Promise<Decision> {
    return this.decideBy(this.waiters, hits, wait);
  }

  /**
   * Decides hits that wait for permits of a window.
   *
   * @internal
   * @throws the signal's reason if it aborts
   */
  async decideInLine(hits: readonly RuleHit[], wait: Wait): Promise<Decision> {
    return this.decideBy(this.lines, hits, wait);
  }

  /**
   * Decides hits of rules that wait: of leases in their queues; if all rules can delay requests, at once with a delay; else
   * in this process.
   */
  private decideWaiting(hits: readonly RuleHit[], wait: Wait): MaybePromise<Decision> {
    if (hits.some((hit) => hit.wait && hit.lease !== undefined)) return this.decideInTurn(hits, wait);
    if (!hits.every((hit) => hit.wait && hit.rule.queues)) return this.decideInLine(hits, wait);
    const queued = hits.map((hit) => ({ ...hit, wait: undefined }));
    return this.decide(queued, { maxWait: toMicroseconds(wait.timeoutMs) });
  }

  private async decideBy(
    queue: Waiters | AcquireLines,
    hits: readonly RuleHit[],
    wait: Wait,
  ): Promise<Decision> {
    wait.signal?.throwIfAborted();
    const startedAt = performance.now();
    const decided = await queue.decide(hits, wait);
    const decision = decisionOf(decided.hits, decided.results, false);
    return this.events.followsDecisions ? this.emitted(decided.hits, decision, startedAt) : decision;
  }

  /**
   * Refunds the permits that a decision charged, once. A charge that has expired is not refunded.
   *
   * @returns whether anything was refunded
   * @throws RateLimitConfigError if the decision is not one of a limiter, or an option is invalid
   */
  async refund(decision: Decision, options?: RefundOptions): Promise<boolean> {
    checkCharged(decision);
    const { onlyLast = false, rules } = readOptions('refund', options, REFUND_OPTIONS);
    if (rules) checkNames(rules, decision);
    const charge = DecidedHit.chargeOf(decision);
    const isMeant = (hit: Hit, index: number): boolean =>
      isPaid(hit) && (rules === undefined || rules.includes(decision.decisions[index]!.rule));
    const refunds = charge?.take(onlyLast ? 'refund-last' : 'refund', isMeant) ?? [];
    this.events.refunded(() => DecidedHit.hitsOf(decision, refunds), decision);
    return (await this.store.adjust(refunds)).includes(true);
  }

  /**
   * Returns the permits that a decision holds, and renews their leases until they are released.
   *
   * @internal
   */
  permit(decision: Decision): Permit {
    const isHeld = (hit: Hit): boolean => hit.lease !== undefined && isPaid(hit);
    const held = DecidedHit.chargeOf(decision)?.take('renew', isHeld) ?? [];
    const lost = new AbortController();
    this.leases.hold(held, lost);
    return new Permit(decision, lost.signal, async () => {
      this.leases.drop(held);
      const released = await this.store.adjust(held.map((lease) => ({ ...lease, kind: 'refund' })));
      return held.length > 0 && !lost.signal.aborted && !released.includes(false);
    });
  }

  /**
   * Waits for the delay of a decision.
   *
   * @internal
   * @throws the signal's reason if it aborts; the permits are refunded if no later request was charged
   */
  async delay(decision: Decision, signal?: AbortSignal): Promise<void> {
    try {
      await sleep(decision.delayMs, signal);
    } catch (error) {
      await this.refund(decision, { onlyLast: true });
      throw error;
    }
  }

  /**
   * Returns a rule, with its trial limit, that builds hits for any subject.
   *
   * @internal
   */
  keyed(rule: CompiledRule, owner?: string, counter?: string): KeyedRule {
    const keyed = this.keys.keyed(rule, owner, counter);
    for (const { algorithm } of [rule, ...(rule.trial ? [rule.trial] : [])]) {
      if (!this.samples.has(algorithm)) this.samples.set(algorithm, keyed);
    }
    return keyed;
  }

  /**
   * Whether `ready()` will be called, which sends the first heartbeat after it has tried the store.
   *
   * @internal
   */
  protected becomesReady(): boolean {
    return false;
  }

  /** Number of processes that share the limits: the last count, at least `instances`. */
  get instanceCount(): number {
    return this.instances.count;
  }

  /** The error of the last heartbeat, with which `instanceCount` may be out of date; `undefined` if it succeeded. */
  get instanceCountError(): unknown {
    return this.instances.error;
  }

  /** Refunds prefetched permits, and stops renewals and heartbeats. It does not close the store. */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  /**
   * Ends the waits for permits: each request is decided once more, and later ones do not wait.
   *
   * @internal
   */
  async endWaits(): Promise<void> {
    this.lines.close();
    await this.waiters.close();
  }

  /**
   * Lets waiting requests follow the limits that their rules have now.
   *
   * @internal
   */
  protected rulesChanged(): void {
    this.waiters.rulesChanged();
    this.lines.rulesChanged();
  }

  private async closeAll(): Promise<void> {
    await this.endWaits();
    this.leases.close();
    if (this.store !== this.base) await this.store.close();
    await this.instances.stop();
  }

  private decideAndEmit(hits: readonly RuleHit[], options: DecideOptions): MaybePromise<Decision> {
    const startedAt = performance.now();
    const results = this.store.decide(hits, options);
    return results instanceof Promise
      ? results.then((found) => this.emitted(hits, decisionOf(hits, found, false), startedAt))
      : this.emitted(hits, decisionOf(hits, results, false), startedAt);
  }

  private emitted(hits: readonly RuleHit[], decision: Decision, startedAt: number): Decision {
    const subjects = hits.map(({ subject }) => subject);
    this.events.decided({ decision, subjects, durationMs: performance.now() - startedAt }, hits);
    return decision;
  }
}

/**
 * @throws RateLimitConfigError if the decision was allowed and its charge is unknown: a copy, or an object of
 *   another origin
 */
function checkCharged(decision: unknown): void {
  const given = checkDecision(decision);
  if (given instanceof DecidedHit || !given.allowed) return;
  throw new RateLimitConfigError([
    problem('decision', given, 'the object that the limiter returned, since a copy does not have its charge'),
  ]);
}

/** @throws RateLimitConfigError if a name is not that of a rule of the decision */
function checkNames(rules: readonly string[], { decisions }: Decision): void {
  const known = decisions.map(({ rule }) => rule);
  const unknown = rules.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const allowed = `rules of the decision: ${known.map((name) => `"${name}"`).join(', ')}`;
  throw new RateLimitConfigError([problem('refund.rules', unknown, allowed)]);
}

/** Returns the shortest wait of some hits: all of them are taken together. */
function waitOf(hits: readonly RuleHit[], { signal }: HitWait): Wait {
  return {
    timeoutMs: Math.min(...hits.map(({ wait }) => wait?.timeoutMs ?? Infinity)),
    signal: signal(),
    current: async () => (await Promise.all(hits.map(({ wait }) => wait?.current?.() ?? []))).flat(),
  };
}

/** The request is decided without waiting. */
const NOW: DecideOptions = {};
