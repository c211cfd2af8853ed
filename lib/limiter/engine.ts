import { toMicroseconds } from '../contracts/clock.js';
import type { Decision } from '../contracts/decision.js';
import type { Adjustment, DecideOptions, HitResult, Store } from '../contracts/store.js';
import type { BaseStore } from '../contracts/base-store.js';
import type { MaybePromise } from '../contracts/thenable.js';
import type { CompiledRule, RuleHit } from '../rules/compiled-rule.js';
import type { KeyedRule } from '../rules/keyed-rule.js';
import { Keys } from '../rules/keys.js';
import type { Adjusts } from './abandoned-requests.js';
import { isHeld, DecidedHit, decisionOf, refundsOf } from './decision.js';
import { RateLimitEvents } from './events.js';
import type { Held, Leases } from './leases.js';
import { type EngineOptions, type RefundOptions, type Wait, waitOf } from './rate-limiter.options.js';
import { Permit } from './permit.js';
import { parts } from './parts.js';
import type { Pipeline } from './pipeline.js';
import type { Waits, waitsOf } from './waits.js';
import { sleep } from '../contracts/timer.js';

/** Decides hits of compiled rules in the store inside its layers, and provides refunds, permits and delays for the decisions. */
export class Engine {
  readonly base: BaseStore;
  /** The store inside its layers. */
  readonly store: Store<RuleHit>;
  readonly keys: Keys;
  /** Absent for a store of one process, which needs no layers: its decisions are local and never fail. */
  readonly pipeline: Pipeline | undefined;
  private readonly adjust: Adjusts;
  /** Absent until a request waits for permits, or holds them. */
  private waits: Waits | undefined;
  private opening: Promise<Waits> | undefined;
  readonly ending = new AbortController(); // Aborts when the waits end.
  private closing: Promise<void> | undefined;
  /** Events of this limiter, for logs and metrics. */
  readonly events = new RateLimitEvents();

  constructor(private readonly options: EngineOptions) {
    const { store, prefix = 'rl:' } = options;
    this.base = store;
    this.keys = new Keys(prefix, store.clock);
    const { keys, events } = this;
    keys.crossed = (...crossing) => events.crossed(...crossing);
    if (store.shared) {
      const changed = (): void => this.waits?.room.wakeAll();
      this.pipeline = new parts.pipeline!(options, store.shared, keys, events, changed);
    }
    this.store = this.pipeline?.store ?? store;
    this.adjust = async (adjustments) => {
      try {
        return await this.store.adjust(adjustments);
      } catch (error) {
        events.storeFailed(error, 'refund'); // a store of the application
        return [];
      }
    };
    if (parts.waitsOf) this.opening = Promise.resolve(this.open(parts.waitsOf));
    if (!options.awaitsReady) void this.pipeline?.instances.beat();
  }

  /**
   * Decides hits, which may have different subjects, all or nothing. Synchronous if the store decides synchronously. An
   * error of a shared store does not reject: the fallback decides.
   */
  decide(
    hits: readonly RuleHit[],
    options: Pick<DecideOptions, 'dryRun' | 'peek' | 'maxWait'> = NOW,
    context?: unknown,
  ): MaybePromise<Decision> {
    const { dryRun = false } = options;
    for (const { wait } of hits)
      if (wait && !dryRun) return this.decideLater(hits, waitOf(hits, wait), context);
    const since = this.events.followsDecisions && !dryRun ? performance.now() : undefined;
    const results = this.store.decide(hits, options);
    if (results instanceof Promise)
      return results.then((found) => this.decided(hits, found, dryRun, since, context));
    if (since === undefined) return decisionOf(hits, results, dryRun);
    return this.decided(hits, results, dryRun, since, context);
  }

  /**
   * Decides hits that wait: those of leases for permits that others hold, first come, first served; others for permits of
   * a window.
   * @throws the signal's reason if it aborts
   */
  async decideWaiting(hits: readonly RuleHit[], wait: Wait, context?: unknown): Promise<Decision> {
    const startedAt = performance.now();
    const { room } = this.waits ?? (await this.openWaits());
    const { hits: last, results } = await room.decide(hits, wait);
    return this.decided(last, results, false, this.events.followsDecisions ? startedAt : undefined, context);
  }

  /** Decides hits of rules that wait: at once with a delay if all rules can delay requests, else when they may pass. */
  private decideLater(hits: readonly RuleHit[], wait: Wait, context: unknown): MaybePromise<Decision> {
    if (!hits.every((hit) => hit.wait && hit.rule.queues)) return this.decideWaiting(hits, wait, context);
    const queued = hits.map((hit) => ({ ...hit, wait: undefined }));
    return this.decide(queued, { maxWait: toMicroseconds(wait.maxWaitMs) }, context);
  }

  /**
   * Refunds the permits that a decision charged, once. A charge that has expired is not refunded.
   *
   * @returns whether anything was refunded
   */
  async refund(decision: Decision, options?: RefundOptions): Promise<boolean> {
    const refunds = refundsOf(decision, options);
    this.events.refunded(() => DecidedHit.hitsOf(decision, refunds), decision);
    return (await this.store.adjust(refunds)).includes(true);
  }

  /** Returns the permits that a decision holds, and renews their leases until they are released, or lost. */
  permit(decision: Decision, onLost?: () => void): Permit {
    const { signal, end } = this.held(decision, false, onLost);
    return new Permit(decision, signal, async () => {
      const refunds = end();
      const released = await this.store.adjust(refunds);
      return decision.allowed && !signal.aborted && !released.includes(false);
    });
  }

  /**
   * Renews the leases of the permits that a decision holds, until they end.
   *
   * @param isBounded whether it ends leases that are held too long, or are too many
   */
  held(decision: Decision, isBounded = false, onLost?: () => void): Held {
    const held = DecidedHit.chargeOf(decision)?.take('renew', isHeld) ?? [];
    const lost = new AbortController();
    const abort = (reason: unknown): void => {
      lost.abort(reason);
      if (!this.closing) onLost?.();
    };
    const hold = (leases: Leases): void => leases.hold(held, { abort }, isBounded);
    if (held.length > 0) this.withLeases(hold, () => lost.abort());
    const end = (): Adjustment[] => {
      this.withLeases((leases) => leases.drop(held));
      this.events.refunded(() => DecidedHit.hitsOf(decision, held), decision);
      return held.map((lease) => ({ ...lease, kind: 'refund' }));
    };
    return { signal: lost.signal, end };
  }

  /**
   * Waits for the delay of a decision. Returns it, or a denial if `ending` aborts.
   * @throws the signal's reason if it aborts. In both cases, permits are refunded when no later request waits behind them
   */
  async delay(decision: Decision, signal?: AbortSignal, ending?: AbortSignal): Promise<Decision> {
    this.openWaits().catch(() => undefined); // What refunds it; an abort awaits it.
    try {
      await sleep(decision.delayMs, signal, ending);
      return decision;
    } catch (error) {
      await this.abandon(decision);
      if (signal?.aborted) throw error;
      return DecidedHit.undelayed(decision);
    }
  }

  /** Refunds a request that leaves its queues. */
  private async abandon(decision: Decision): Promise<void> {
    const refunds = refundsOf(decision, { onlyLast: true });
    const hits = DecidedHit.hitsOf(decision, refunds);
    this.events.refunded(() => hits, decision);
    const { abandoned } = this.waits ?? (await this.openWaits());
    await abandoned.leave(hits, refunds);
  }

  /** Returns a rule, with its trial limit, that builds hits for any subject. */
  keyed(rule: CompiledRule, owner?: string, counter?: string): KeyedRule {
    const keyed = this.keys.keyed(rule, owner, counter);
    if (rule.maxWaitMs || rule.algorithm.leases) this.openWaits().catch(() => undefined); // ready() rejects.
    this.pipeline?.sample(rule, keyed);
    return keyed;
  }

  /** Waits until every server of the store has decided once with the algorithms in use, or has failed. */
  async ready(): Promise<void> {
    await this.opening;
    await this.pipeline?.ready();
  }

  /** Refunds prefetched permits, and stops renewals and heartbeats. It does not close the store. */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  /** Ends the waits for permits: each request is decided once more, and later ones do not wait. */
  async endWaits(): Promise<void> {
    this.ending.abort();
    await this.waits?.room.close();
  }

  /** Lets waiting requests follow the limits that their rules have now. */
  rulesChanged(): void {
    this.pipeline?.prefetch.refundAll();
    this.waits?.room.rulesChanged();
  }

  /** Loads what waits for permits and holds them. */
  private openWaits(): Promise<Waits> {
    return (this.opening ??= import('./waits.js').then(({ waitsOf: loaded }) => this.open(loaded)));
  }

  private open(create: typeof waitsOf): Waits {
    this.waits = create(this.store, this.base, this.adjust, this.keys);
    const { room, leases } = this.waits;
    if (this.pipeline) room.followFallback(this.options.fallback);
    if (this.ending.signal.aborted) void room.close();
    if (this.closing) leases.close();
    return this.waits;
  }

  /** Uses what renews leases: at once if it is loaded. */
  private withLeases(use: (leases: Leases) => void, failed = (): void => undefined): void {
    if (this.waits) use(this.waits.leases);
    else void this.openWaits().then(({ leases }) => use(leases), failed);
  }

  private async closeAll(): Promise<void> {
    await this.endWaits();
    this.waits?.leases.close();
    await this.pipeline?.close();
  }

  /** @param since when the request arrived, if its decision has listeners */
  private decided(
    hits: readonly RuleHit[],
    results: readonly HitResult[],
    isDryRun: boolean,
    since: number | undefined,
    context: unknown,
  ): Decision {
    const decision = decisionOf(hits, results, isDryRun);
    if (since !== undefined)
      this.events.decided(hits, { decision, durationMs: performance.now() - since, context });
    return decision;
  }
}

/** The request is decided without waiting. */
const NOW: DecideOptions = {};
