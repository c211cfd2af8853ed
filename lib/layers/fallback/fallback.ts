import type { Result } from '../../contracts/algorithm.js';
import type { Fallback } from '../../contracts/decision.js';
import {
  isDenied,
  type Adjustment,
  type Counter,
  type DecideOptions,
  type HitResult,
  type Store,
} from '../../contracts/store.js';
import type { BaseStore, SharedStore } from '../../contracts/base-store.js';
import type { StoreCall } from '../../contracts/store-fault.js';
import type { MaybePromise } from '../../contracts/thenable.js';
import { undo } from '../../contracts/undo.js';
import type { CompiledRule, RuleHit } from '../../rules/compiled-rule.js';
import { decideLocally, RETRY_AFTER } from './local-limits.js';

const ALLOWED: Result = { allowed: true, remaining: 0, retryAfter: 0, resetAfter: 0, delay: 0 };
const DENIED: Result = { ...ALLOWED, allowed: false, retryAfter: RETRY_AFTER };

export interface FallbackOptions {
  /** The fallback of rules without their own. */
  readonly onStoreError: Fallback;
  /** The memory of this process, which decides where the fallback is `'local'`. */
  readonly local: BaseStore;
  /** Returns how many processes share the limits, from 1. */
  readonly instances: () => number;
  /** How long a request may wait for the store. */
  readonly shared: Pick<SharedStore, 'timeout' | 'awake'>;
  /** Called with each error of the store. */
  readonly failed: (error: unknown, call: Exclude<StoreCall, 'heartbeat'>) => void;
}

type AdjustOptions = Pick<DecideOptions, 'within'>;

type Adjusted = ReturnType<Store['adjust']>;

/** Decides the hits that the store could not decide, each by the `onStoreError` of its rule or of the limiter. */
export class FallbackLayer implements Store<RuleHit> {
  constructor(
    private readonly next: Store,
    private readonly options: FallbackOptions,
  ) {}

  decide(hits: readonly RuleHit[], options: DecideOptions): MaybePromise<readonly HitResult[]> {
    if (options.unavailable !== undefined) return this.decideAll(hits, options, options.unavailable);
    const startedAt = hits.length > 1 ? this.options.shared.awake() : 0;
    const failed = (error: unknown): Promise<HitResult[]> => this.decideAll(hits, options, error);
    try {
      const results = this.next.decide(hits, options);
      if (!(results instanceof Promise)) return this.completed(hits, results, options, startedAt);
      // Only several hits can be decided in part.
      if (hits.length === 1) return results.catch(failed);
      return results.then((found) => this.completed(hits, found, options, startedAt), failed);
    } catch (error) {
      return failed(error);
    }
  }

  async adjust(adjustments: readonly Adjustment[], options?: AdjustOptions): Adjusted {
    const isLocal = ({ source }: Adjustment): boolean => source === 'fallback';
    const local = adjustments.filter(isLocal);
    if (local.length === 0) return this.adjustNext(adjustments, options);
    const others = adjustments.filter((each) => !isLocal(each));
    const [own, rest] = await Promise.all([
      this.options.local.adjust(local),
      this.adjustNext(others, options),
    ]);
    const [ownResults, otherResults] = [own.values(), rest.values()];
    return adjustments.map((each) => (isLocal(each) ? ownResults : otherResults).next().value);
  }

  /** @throws the error of the store; even then the block applies in this process */
  async block(...block: Parameters<Store['block']>): Promise<boolean> {
    const [wasBlocked] = await Promise.all([this.next.block(...block), this.options.local.block(...block)]);
    return wasBlocked;
  }

  /** @throws the error of the store; even then the state in this process is deleted */
  async reset(counters: readonly Counter[]): Promise<readonly boolean[]> {
    const [hadState] = await Promise.all([this.next.reset(counters), this.options.local.reset(counters)]);
    return hadState;
  }

  /** Does nothing: the owner of the two stores closes them. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private async adjustNext(adjustments: readonly Adjustment[], options?: AdjustOptions): Adjusted {
    if (adjustments.length === 0) return [];
    try {
      return await this.next.adjust(adjustments, options);
    } catch (error) {
      this.options.failed(error, 'refund');
      return adjustments.map(() => undefined);
    }
  }

  private completed(
    hits: readonly RuleHit[],
    results: readonly HitResult[],
    options: DecideOptions,
    startedAt: number,
  ): MaybePromise<readonly HitResult[]> {
    for (const { unavailable } of results) {
      if (unavailable !== undefined) return this.complete(hits, results, options, startedAt);
    }
    return results;
  }

  /** Decides the unavailable hits, and refunds the others if one of these is denied. */
  private async complete(
    hits: readonly RuleHit[],
    results: readonly HitResult[],
    options: DecideOptions,
    startedAt: number,
  ): Promise<readonly HitResult[]> {
    const errors = new Set(results.map(({ unavailable }) => unavailable));
    errors.delete(undefined);
    for (const error of errors) this.options.failed(error, 'decision');
    const isKnown = (index: number): boolean => results[index]!.unavailable === undefined;
    const missing = hits.filter((_hit, index) => !isKnown(index));
    const known = hits.filter((_hit, index) => isKnown(index));
    const knownResults = results.filter((_result, index) => isKnown(index));
    // If the store has denied the request already, nothing must be charged here.
    const areDenied = isDenied(known, knownResults);
    const ofMissing = areDenied ? { ...options, dryRun: true, peek: false } : options;
    const decided = await this.decideMissing(missing, ofMissing);
    const { dryRun = false, peek = false } = options;
    const isUndone = !areDenied && (!dryRun || peek) && isDenied(missing, decided);
    const { timeout, awake } = this.options.shared;
    const within = Math.max(1, timeout - (awake() - startedAt));
    const others = isUndone
      ? await undo(this.next, known, knownResults, () => true, { within, peek })
      : knownResults;
    const [decidedResults, otherResults] = [decided.values(), others.values()];
    return hits.map((_hit, index) => (isKnown(index) ? otherResults : decidedResults).next().value!);
  }

  private decideAll(hits: readonly RuleHit[], options: DecideOptions, error: unknown): Promise<HitResult[]> {
    this.options.failed(error, 'decision');
    return this.decideMissing(hits, options, error ?? new Error('the store could not decide'));
  }

  /** Decides hits by their fallbacks, all or nothing. */
  private async decideMissing(
    hits: readonly RuleHit[],
    { dryRun = false, peek = false, maxWait = 0 }: DecideOptions,
    unavailable?: unknown,
  ): Promise<HitResult[]> {
    const isDenied = hits.some(({ rule, shadow }) => !shadow && this.of(rule) === 'deny');
    const local = hits.filter(({ rule }) => this.of(rule) === 'local');
    const counted = await decideLocally(this.options.local, this.options.instances(), local, {
      dryRun: dryRun || isDenied,
      peek: peek && !isDenied,
      maxWait,
    });
    return hits.map((hit) => {
      const fallback = this.of(hit.rule);
      if (fallback === 'local') return { ...counted.shift()!, unavailable };
      const result = fallback === 'deny' ? DENIED : ALLOWED;
      return { ...result, source: 'fallback', now: 0, fallback, unavailable };
    });
  }

  private of({ onStoreError = this.options.onStoreError }: CompiledRule): Fallback {
    return onStoreError;
  }
}
