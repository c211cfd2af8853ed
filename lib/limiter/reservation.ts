import { readCount } from '../contracts/count.js';
import type { Decision } from '../contracts/decision.js';
import { RULE_FIELDS } from '../rules/rule-fields.js';
import { problem, RateLimitConfigError } from '../contracts/rate-limit-config.error.js';

/**
 * Permits for work whose cost is known only afterwards.
 *
 * @example
 * const reservation = await limits.reserve(tokens, user, { cost: 2_000 });
 * if (reservation.allowed) await reservation.settle(await answer());
 */
export class Reservation {
  private settled: Promise<void> | undefined;

  /** @internal */
  constructor(
    /** The decision of `reserve`. */
    readonly decision: Decision,
    private readonly charge: (actual: number) => Promise<void>,
  ) {}

  /** Whether the permits were charged. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /**
   * Charges the actual cost: refunds the difference, or charges an overrun as debt, which is repaid from future
   * permits. Only the first call of `settle` or `cancel` has an effect.
   *
   * @param actual permits: an integer from 0 to 1,000,000,000
   * @throws RateLimitConfigError if `actual` is invalid
   */
  async settle(actual: number): Promise<void> {
    const cost = readCount(actual);
    if (!RULE_FIELDS.cost.accepts(cost)) {
      throw new RateLimitConfigError([problem('cost', actual, RULE_FIELDS.cost.allowed)]);
    }
    this.settled ??= this.charge(cost as number);
    await this.settled;
  }

  /** Refunds the whole reservation. */
  async cancel(): Promise<void> {
    await this.settle(0);
  }
}
