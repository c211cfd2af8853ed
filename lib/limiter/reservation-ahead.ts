import type { Decision } from '../contracts/decision.js';

/**
 * Permits that are charged now and available after a delay.
 *
 * @example
 * const reservation = await limits.reserveAhead(mails, tenant);
 * if (reservation.allowed) await queue.add(mail, { delay: reservation.delayMs });
 */
export class ReservationAhead {
  private cancelled: Promise<boolean> | undefined;

  constructor(
    /** The decision of `reserveAhead`. */
    readonly decision: Decision,
    private readonly refund: () => Promise<boolean>,
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
   * Refunds the permits, unless others were reserved behind them: their delays are known already. Later calls have no
   * effect, and return the same.
   *
   * @returns whether the permits were refunded
   */
  cancel(): Promise<boolean> {
    return (this.cancelled ??= this.allowed ? this.refund() : Promise.resolve(false));
  }
}
