import type { Decision } from '../contracts/decision.js';
import { RULE_FIELDS } from './rule-fields.js';
import { problem, RateLimitConfigError } from './rate-limit-config.error.js';

/** Permits taken for work whose cost is known only afterwards. */
export class Reservation {
  private settled: Promise<void> | undefined;

  constructor(
    /** The answer to the reservation. */
    readonly decision: Decision,
    private readonly charge: (actual: number) => Promise<void>,
  ) {}

  /** Whether the permits were there; if not, nothing has been charged. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /**
   * Charges what the work has cost in the end: gives the difference back, or charges it as debt, which
   * the permits of the time to come pay off. Only the first call of `settle` or `cancel` counts.
   *
   * @param actual permits, an integer from 0 to 1,000,000,000
   * @throws RateLimitConfigError if `actual` is not as allowed
   */
  async settle(actual: number): Promise<void> {
    if (!RULE_FIELDS.cost.accepts(actual)) {
      throw new RateLimitConfigError([problem('cost', actual, RULE_FIELDS.cost.allowed)]);
    }
    this.settled ??= this.charge(actual);
    await this.settled;
  }

  /** Gives everything back. */
  async cancel(): Promise<void> {
    await this.settle(0);
  }
}
