import type { TakenAhead } from '../../algorithms/definition.js';
import type { Adjustment, Hit, HitResult, PrefetchRequest } from '../../contracts/store.js';
import { adjustmentOf } from '../../contracts/undo.js';
import type { CompiledPrefetch } from '../../rules/compiled-rule.js';

/** Permits of one key that this process has taken ahead, and spends one after the other. */
export class Prefetched {
  /** How many are spent, or were not spent in time. */
  private spent = 0;
  private readonly charge: TakenAhead;

  /**
   * @param taken the permits, as the store was asked for them
   * @param hit the hit for which they were taken
   * @param result the store's result for it
   * @param since when the store was asked, by this process's clock: no later than it decided
   */
  constructor(
    private readonly rule: CompiledPrefetch,
    private readonly taken: PrefetchRequest,
    private readonly hit: Hit,
    private readonly result: HitResult,
    private readonly since: number,
  ) {
    this.charge = { permits: rule.permits, now: result.now, resetAfter: result.resetAfter };
  }

  /** Whether no permit can be spent any more. */
  isOver(clock: number): boolean {
    return clock - this.since >= this.rule.ttl || this.spent === this.rule.permits;
  }

  /** Whether the permits are of the same rule as a hit. */
  isFor({ algorithm, parameters }: Hit): boolean {
    const own = this.hit;
    if (parameters === own.parameters) return true;
    return (
      algorithm === own.algorithm &&
      algorithm.parameters.every((name) => parameters[name] === own.parameters[name])
    );
  }

  /** Spends permits for a hit that came before the store had decided. */
  spendAtOnce(hit: Hit): HitResult | undefined {
    return this.use(hit, 0, this.result.source);
  }

  /** Spends permits for a hit that comes now; `undefined` if there are not enough that still count. */
  spend(hit: Hit, clock: number): HitResult | undefined {
    const elapsed = clock - this.since;
    if (elapsed < 0 || elapsed >= this.rule.ttl) return undefined;
    this.dropLate(elapsed);
    return this.use(hit, elapsed, 'cache');
  }

  /** The refund of what is left. */
  rest(clock: number): Adjustment | undefined {
    this.dropLate(clock - this.since);
    const cost = this.rule.permits - this.spent;
    this.spent = this.rule.permits;
    if (cost === 0) return undefined;
    const { name, keptFor } = this.taken;
    const once = { name, until: this.result.now + keptFor };
    return { ...adjustmentOf(this.hit, this.result, 'refund'), cost, once };
  }

  private use(hit: Hit, elapsed: number, source: HitResult['source']): HitResult | undefined {
    if (this.spent + hit.cost > this.rule.permits) return undefined;
    this.spent += hit.cost;
    const { result, rule } = this;
    const remaining = result.remaining + rule.permits - this.spent;
    const resetAfter = Math.max(0, result.resetAfter - elapsed);
    // `now` and `resetAfter` together are when the charge expires.
    return {
      allowed: true,
      remaining,
      retryAfter: 0,
      resetAfter,
      delay: 0,
      source,
      now: result.now + elapsed,
      chargedAt: result.now,
    };
  }

  /** Leaves out permits that would count for less now than if they were charged now. */
  private dropLate(elapsed: number): void {
    const { rule, charge } = this;
    const instant = charge.now + elapsed;
    while (this.spent < rule.permits && rule.spendBy(this.spent + 1, charge) < instant) this.spent += 1;
  }
}
