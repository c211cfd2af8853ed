import type { Decision } from '../contracts/decision.js';
import { didYouMean } from '../contracts/nearest.js';
import { readOptions } from '../contracts/options.js';
import { shown } from '../contracts/shown.js';
import type { Cost, CostByRule } from '../rules/compiled-rule.js';
import { quoted } from './operation.js';
import { COSTS } from './rate-limiter.options.js';

const ACTUAL = { actual: { ...COSTS, isRequired: true } };

/** How a reservation is settled. */
export interface SettledRules {
  /** The names of its rules, without trial limits. */
  readonly names: readonly string[];
  /** The rule that a number concerns; absent if it is the only one, or unknown. */
  readonly settles: string | undefined;
  /** Changes the charges to the actual cost. Returns whether a charge changed. */
  readonly charge: (actual: Cost) => Promise<boolean>;
  /** Receives why a charge stays as reserved, as full sentences. */
  readonly warn: (message: string) => void;
}

/**
 * Permits for work whose cost is known only afterwards.
 *
 * @example
 * const reservation = await limits.reserve(['tokens', 'requests'], user, { cost: { tokens: 2_000 } });
 * if (reservation.allowed) await reservation.settle({ tokens: await answer() });
 */
export class Reservation<Actual = number | CostByRule> {
  private settled: Promise<boolean> | undefined;

  /** @internal */
  constructor(
    /** The decision of `reserve`. */
    readonly decision: Decision,
    private readonly rules: SettledRules,
  ) {}

  /** Whether the permits were charged. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /** Milliseconds from the decision until the permits are available; 0 if they are, or if none were charged. */
  get delayMs(): number {
    return this.decision.delayMs;
  }

  /**
   * Charges the actual cost: refunds the difference, or charges an overrun as debt, which is repaid from future
   * permits. Rules that are not named keep their charge. Only the first call of `settle` or `cancel` has an effect.
   *
   * A name that is not of the reservation, or a number for several rules without `settles`, does not throw: the work
   * is done. The charge stays as reserved, and a warning with the code `RL_SETTLED_IN_PART` is logged once.
   *
   * @param actual permits by rule name, or those of the only rule or the one that `settles` names: integers from 0 to
   *   1,000,000,000
   * @returns whether a charge changed
   * @throws RateLimitConfigError if a number in `actual` is invalid
   */
  async settle(actual: Actual): Promise<boolean> {
    const read = readOptions('settle', { actual: actual as Cost }, ACTUAL);
    return this.close(() => this.byName(read.actual));
  }

  /**
   * Refunds the whole reservation. If the permits come later, neither it nor a smaller `settle` refunds them once others
   * are reserved behind them, whose delays are known already.
   *
   * @returns whether permits were refunded
   */
  cancel(): Promise<boolean> {
    return this.close(() => 0);
  }

  private async close(actual: () => Cost): Promise<boolean> {
    if (!this.settled) return (this.settled = this.rules.charge(actual()));
    await this.settled;
    return false;
  }

  /** Returns the cost of the rules that it concerns, and warns if a part of it concerns none. */
  private byName(actual: Cost): Cost {
    const { names, settles, warn } = this.rules;
    const reserved = `A reservation of the rules ${quoted(names)} was settled`;
    if (typeof actual === 'number') {
      if (settles !== undefined) return { [settles]: actual };
      if (names.length === 1) return actual;
      warn(
        `${reserved} with ${actual} and no rule name, so every rule keeps its charge. Settle by rule name, such as ` +
          `{ ${quoted(names.slice(0, 1))}: ${actual} }, or reserve with settles.`,
      );
      return {};
    }
    const unknown = Object.keys(actual).find((name) => !names.includes(name));
    if (unknown === undefined) return actual;
    const fix = didYouMean(unknown, names);
    warn(
      `${reserved} with the rule ${shown(unknown)}, which is not among them. Rules that settle() does not name keep ` +
        `their charge. Correct the name${fix === undefined ? '.' : `: ${fix}`}`,
    );
    return actual;
  }
}
