import type { Decision } from '../contracts/decision.js';
import { RULE_FIELDS } from './compile-rule.js';
import { DecidedHit, type Charge } from './decision.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';

type Settle = (charge: Charge, reserved: number, actual: number) => Promise<void>;

/** Permits taken for work whose cost is known only afterwards. */
export class Reservation {
  private charge: Charge | undefined;

  constructor(
    /** The answer to the reservation. */
    readonly decision: Decision,
    private readonly charged: Settle,
  ) {
    this.charge = DecidedHit.takeCharge(decision);
  }

  /** Whether the permits were there; if not, nothing has been charged. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /**
   * Charges what the work has cost in the end: gives the difference back, or charges it as debt, which
   * the permits of the time to come pay off. Only the first call of `settle` or `cancel` counts.
   *
   * @param actual permits, an integer from 0
   */
  async settle(actual: number): Promise<void> {
    if (!RULE_FIELDS.cost.accepts(actual)) {
      throw new RateLimitConfigError([problem('cost', actual, RULE_FIELDS.cost.allowed)]);
    }
    const { charge } = this;
    this.charge = undefined;
    if (charge) await this.charged(charge, charge.hits[0]!.cost, actual);
  }

  /** Gives everything back. */
  async cancel(): Promise<void> {
    await this.settle(0);
  }
}
