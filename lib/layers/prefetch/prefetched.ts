import type { TakenAhead } from '../../algorithms/definition.js';
import {
  adjustmentOf,
  type Adjustment,
  type Hit,
  type HitResult,
  type PrefetchRequest,
} from '../../contracts/store.js';
import type { CompiledPrefetch } from '../../rules/compiled-rule.js';

/** The prefetched permits of one key, which this process uses one after the other. */
export class Prefetched {
  /** Number of permits that are used, or were not used in time. */
  private spent = 0;
  private readonly charge: TakenAhead;
  /** The refund of all permits. */
  private readonly refund: Adjustment;

  /**
   * @param taken the prefetch as it was sent to the store
   * @param hit the hit that caused the prefetch
   * @param result the result of the store
   * @param since when the store was called, in microseconds of this process's clock: no later than its decision
   */
  constructor(
    private readonly rule: CompiledPrefetch,
    taken: PrefetchRequest,
    hit: Hit,
    private readonly result: HitResult,
    private readonly since: number,
  ) {
    this.charge = { permits: rule.permits, now: result.now, resetAfter: result.resetAfter };
    const { name, keptFor } = taken;
    const once = { name, until: result.now + keptFor };
    this.refund = { ...adjustmentOf(hit, result, 'refund'), once };
  }

  /** Whether all permits are used or expired. */
  isOver(clock: number): boolean {
    return clock - this.since >= this.rule.ttl || this.spent === this.rule.permits;
  }

  /** Whether the permits can be used for a hit: algorithm and parameters must be the same. */
  isFor({ algorithm, parameters }: Hit): boolean {
    const own = this.refund;
    if (parameters === own.parameters) return true;
    return (
      algorithm === own.algorithm &&
      algorithm.parameters.every((name) => parameters[name] === own.parameters[name])
    );
  }

  /** Uses permits for a hit that arrived before the store had decided; `undefined` if there are not enough. */
  spendAtOnce(hit: Hit): HitResult | undefined {
    return this.use(hit, 0, this.result.source);
  }

  /**
   * Uses permits for a hit that arrives now; `undefined` if there are not enough valid ones.
   *
   * @param peek whether they stay unused
   */
  spend(hit: Hit, clock: number, peek: boolean): HitResult | undefined {
    const elapsed = clock - this.since;
    if (elapsed < 0 || elapsed >= this.rule.ttl) return undefined;
    this.dropLate(elapsed);
    return this.use(hit, elapsed, 'cache', peek);
  }

  /** Returns the refund of all unused permits, which cannot be used after that; `undefined` if there are none. */
  rest(clock: number): Adjustment | undefined {
    this.dropLate(clock - this.since);
    const cost = this.rule.permits - this.spent;
    this.spent = this.rule.permits;
    if (cost === 0) return undefined;
    return { ...this.refund, cost };
  }

  private use(hit: Hit, elapsed: number, source: HitResult['source'], peek = false): HitResult | undefined {
    const { result, rule } = this;
    const spent = this.spent + hit.cost;
    if (spent > rule.permits) return undefined;
    if (!peek) this.spent = spent;
    const remaining = result.remaining + rule.permits - spent;
    const resetAfter = Math.max(0, result.resetAfter - elapsed);
    // The sum of `now` and `resetAfter` identifies the charge: the instant at which it expires.
    const nextAfter =
      remaining === 0 && result.nextAfter !== undefined
        ? { nextAfter: Math.max(0, result.nextAfter - elapsed) }
        : undefined;
    return {
      allowed: true,
      remaining,
      retryAfter: 0,
      resetAfter,
      delay: 0,
      source,
      now: result.now + elapsed,
      chargedAt: result.now,
      ...nextAfter,
    };
  }

  /** Drops permits that are no longer valid: using them now would allow more than charging them now. */
  private dropLate(elapsed: number): void {
    const { rule, charge } = this;
    const instant = charge.now + elapsed;
    while (this.spent < rule.permits && rule.spendBy(this.spent + 1, charge) < instant) this.spent += 1;
  }
}
