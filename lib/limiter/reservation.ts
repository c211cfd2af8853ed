import type { Decision } from '../contracts/decision.js';
import { readOptions } from '../contracts/options.js';
import { quoted } from '../contracts/rate-limit-config.error.js';
import type { MaybePromise } from '../contracts/thenable.js';
import type { Cost, CostByRule, RuleHit } from '../rules/compiled-rule.js';
import type { Engine } from './engine.js';
import type { Held } from './leases.js';
import { COSTS, namesOf, type MistakeLog } from './operation.js';
import { reportIfDropped } from './permit.js';
import { misnamed, settlementOf, UsageReports } from './settlement.js';

const ACTUAL = { actual: { ...COSTS, isRequired: true } };

/** How a reservation is settled. */
interface ReservedRules {
  readonly hits: readonly RuleHit[];
  /** The rule that a number concerns; absent if it is the only one, or unknown. */
  readonly settles: string | undefined;
  /** Whether the permits come later, so that it may never be settled. */
  readonly isScheduled: boolean;
}

/** The total usage so far: as `settle` takes it, and `null` or `undefined` where it is not known yet. */
type UsageOf<Actual> = Actual extends number
  ? number | null | undefined
  : { readonly [Name in keyof Actual]: Actual[Name] | null | undefined };

/**
 * Permits for work whose cost is known only afterwards. Permits of `concurrency` rules are held until it ends.
 *
 * @example
 * await using budget = await limits.reserve(['tokens', 'streams'], user, { cost: { tokens: 2_000 } });
 * if (budget.allowed) await budget.settle({ tokens: await answer() });
 */
export class Reservation<Actual = number | CostByRule> implements AsyncDisposable {
  private settled: MaybePromise<boolean> | undefined;
  /** Absent if no permit is held. */
  private readonly held: Held | undefined;
  private usage: UsageReports | undefined;
  private readonly ended: (() => void) | undefined;

  /** @internal */
  constructor(
    /** The decision of `reserve`. */
    readonly decision: Decision,
    private readonly engine: Engine,
    private readonly log: MistakeLog,
    private readonly rules: ReservedRules,
  ) {
    const { hits, isScheduled } = rules;
    if (decision.allowed && hits.some(isHeld)) this.held = engine.held(decision, true);
    if (!decision.allowed || (isScheduled && !this.held)) return;
    this.ended = reportIfDropped(() => log.warn('RL_RESERVATION_DROPPED', droppedMessage(hits)));
  }

  /** Whether the permits were charged. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Milliseconds from the decision until the permits are available; 0 if they are, or if none were charged. */
  get delayMs(): number {
    return this.decision.delayMs;
  }

  /**
   * Aborts if permits of a `concurrency` rule are lost: their lease ended before it was renewed, they were held for a day,
   * or this process opened 10,000 later reservations. Absent if none are held.
   */
  get signal(): AbortSignal | undefined {
    return this.held?.signal;
  }

  /**
   * Reports the total usage so far, such as the cumulative tokens of a stream: usage beyond the reservation is charged while
   * the work is done, at most once a second, when it reaches a tenth of the reservation. Without effect if the value is
   * `null`, `undefined`, no finite number or smaller than before, and after the end of the reservation.
   *
   * @returns whether all rules still had permits when usage was last charged: if not, or if the reservation was denied, the
   *   work should stop
   */
  used(usage: UsageOf<Actual>): boolean {
    const { engine, rules, decision } = this;
    if (!this.allowed) return false;
    this.usage ??= new UsageReports(decision, rules.hits, engine);
    return this.usage.note(this.settled ? {} : this.byName((usage ?? {}) as Cost));
  }

  /**
   * Charges the actual cost: refunds the difference, or charges an overrun as debt, which is repaid from future
   * permits. Rules that are not named keep their charge, or what `used` reported beyond it. Permits of `concurrency` rules
   * are released, whatever their number. Only the first call of `settle` or `cancel` has an effect.
   *
   * A name that is not of the reservation, or a number for several rules without `settles`, does not throw: the work
   * is done. The charge stays as reserved, and a warning with the code `RL_SETTLED_IN_PART` is logged once.
   *
   * @param actual permits by rule name, or those of the only rule or the one that `settles` names: integers from 0 to
   *   1,000,000,000
   * @returns whether a charge changed or a permit was released
   * @throws RateLimitConfigError if a number in `actual` is invalid
   */
  async settle(actual: Actual): Promise<boolean> {
    const read = readOptions('settle', { actual: actual as Cost }, ACTUAL);
    return this.close(() => this.byName(read.actual));
  }

  /**
   * Refunds the whole reservation, except what `used` charged beyond it: with `leaky-bucket`, it refunds nothing then. If the
   * permits come later, neither it nor a smaller `settle` refunds them once others are reserved behind them, whose delays are
   * known already.
   *
   * @returns whether permits were refunded or released
   */
  async cancel(): Promise<boolean> {
    return this.close(() => 0);
  }

  /** Ends the reservation without refunds at the end of the block of an `await using` declaration. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close(() => ({}));
  }

  /** Ends it once: later calls wait for the first, and have no effect. */
  private close(actual: () => Cost): MaybePromise<boolean> {
    if (this.settled instanceof Promise) return this.settled.then(() => false);
    return this.settled === undefined && (this.settled = this.end(actual()));
  }

  private end(actual: Cost): MaybePromise<boolean> {
    this.ended?.();
    const sent = this.usage?.sent;
    if (!sent) return this.adjust(actual);
    const kept = typeof actual === 'number' ? actual : { ...actual }; // The program may change its object meanwhile.
    return sent.then(() => this.adjust(kept));
  }

  private adjust(actual: Cost): MaybePromise<boolean> {
    const { engine, decision, rules, held } = this;
    const settlement = settlementOf(decision, rules.hits, actual, this.usage?.uses);
    const adjustments = held ? [...settlement, ...held.end()] : settlement;
    return (
      adjustments.length > 0 && engine.store.adjust(adjustments).then((adjusted) => adjusted.includes(true))
    );
  }

  /** Returns the cost of the rules that it concerns, and warns if a part of it concerns none. */
  private byName(actual: Cost): Cost {
    const { hits, settles } = this.rules;
    const names = namesOf(hits);
    if (typeof actual !== 'object') {
      if (settles !== undefined) return { [settles]: actual };
      if (names.length === 1) return actual;
      const example = `{ ${quoted(names.slice(0, 1))}: ${actual} }`;
      this.settledInPart(
        ` with ${actual} and no rule name, so every rule keeps its charge. Settle by rule name, such as ${example}, or ` +
          'reserve with settles.',
      );
      return {};
    }
    const wrong = misnamed(names, actual);
    if (wrong !== undefined) this.settledInPart(wrong);
    return actual;
  }

  private settledInPart(how: string): void {
    const names = quoted(namesOf(this.rules.hits));
    this.log.warn('RL_SETTLED_IN_PART', `A reservation of the rules ${names} was settled${how}`);
  }
}

function isHeld({ lease }: RuleHit): boolean {
  return lease !== undefined;
}

function droppedMessage(hits: readonly RuleHit[]): string {
  const held = namesOf(hits.filter(isHeld));
  const stays = held.length === 0 ? '' : `, and the permits of ${quoted(held)} stay held for up to a day`;
  return (
    `A reservation of the rules ${quoted(namesOf(hits))} was dropped without settle() or cancel(), so it stays charged as ` +
    `reserved${stays}. Declare it with \`await using\`.`
  );
}
