import type { TakenAhead } from '../algorithms/definition.js';
import type { Verdict } from '../contracts/algorithm.js';
import type { Hit, Outcome, Store } from '../contracts/store.js';
import type { Answer, Charged } from './charge.js';
import type { CompiledLease } from './compiled-rule.js';

/** Permits that this process has taken ahead for one key, and uses one after the other. */
export class Allotment {
  /** How many are used, or were not used in time. */
  private spent = 0;
  private readonly verdict: Verdict;
  private readonly charge: TakenAhead;

  /**
   * @param taken the hit that took them, by its cost
   * @param outcome what the store said of it
   * @param since when it was asked, by this process's clock: no later than the store decided
   */
  constructor(
    private readonly lease: CompiledLease,
    private readonly taken: Hit,
    { verdicts, now }: Outcome,
    private readonly since: number,
    private readonly store: Store,
  ) {
    this.verdict = verdicts[0]!;
    this.charge = { permits: taken.cost, now, resetAfter: this.verdict.resetAfter };
  }

  /** Whether nothing can be had of it any more. */
  isOver(clock: number): boolean {
    return clock - this.since >= this.lease.ttl || this.spent === this.taken.cost;
  }

  /** Whether it is of the same rule as a hit. */
  isFor({ algorithm, parameters }: Hit): boolean {
    if (parameters === this.taken.parameters) return true;
    return (
      algorithm === this.taken.algorithm &&
      algorithm.parameters.every((name) => parameters[name] === this.taken.parameters[name])
    );
  }

  /** Uses permits for a hit that came before the store had decided. */
  spendAtOnce(hit: Hit): Answer | undefined {
    return this.use(hit, 0);
  }

  /** Uses permits for a hit that comes now, `undefined` if there are not enough that are still good. */
  spend(hit: Hit, clock: number): Answer | undefined {
    const elapsed = clock - this.since;
    if (elapsed < 0 || elapsed >= this.lease.ttl) return undefined;
    this.dropLate(elapsed);
    return this.use(hit, elapsed);
  }

  /** What is left of it, as an amendment that gives it back. */
  rest(clock: number): Charged | undefined {
    this.dropLate(clock - this.since);
    const cost = this.taken.cost - this.spent;
    this.spent = this.taken.cost;
    if (cost === 0) return undefined;
    return { ...this.taken, kind: 'refund', cost, receipt: this.receipt, store: this.store };
  }

  private get receipt(): number {
    return this.charge.now + this.charge.resetAfter;
  }

  private use(hit: Hit, elapsed: number): Answer | undefined {
    if (this.spent + hit.cost > this.taken.cost) return undefined;
    this.spent += hit.cost;
    const { verdict, store } = this;
    const remaining = verdict.remaining + this.taken.cost - this.spent;
    const resetAfter = Math.max(0, verdict.resetAfter - elapsed);
    return {
      hit,
      verdict: { allowed: true, remaining, retryAfter: 0, resetAfter, delay: 0 },
      now: this.charge.now + elapsed, // so that both together are when the charge is gone by itself
      store,
      isCharged: true,
    };
  }

  /** Leaves out what would count for less now than if it were charged now. */
  private dropLate(elapsed: number): void {
    const { lease, taken, charge } = this;
    const instant = charge.now + elapsed;
    while (this.spent < taken.cost && lease.spendBy(this.spent + 1, charge) < instant) this.spent += 1;
  }
}
