import type { Amendment, Hit, Store } from '../contracts/store.js';
import type { FailurePolicy } from './failure-policy.js';

/**
 * Amends what has been charged. Never rejects because of the store: what could not be amended is gone
 * by itself in time.
 */
export class Ledger {
  constructor(
    private readonly store: Store,
    private readonly policy: FailurePolicy,
  ) {}

  /** Says of each amendment whether there was anything to amend, `undefined` if the store cannot be asked. */
  async amend(amendments: readonly Amendment[]): Promise<readonly (boolean | undefined)[]> {
    try {
      return amendments.length > 0 ? await this.store.amend(amendments) : [];
    } catch (error) {
      this.policy.noticed(error);
      return amendments.map(() => undefined);
    }
  }

  /** Charges what work has cost in the end, instead of what was charged for it. */
  async settle(charged: readonly Amendment[], actual: number): Promise<void> {
    const refunds = charged.filter(({ cost }) => cost > actual);
    await this.amend(refunds.map((hit) => ({ ...hit, cost: hit.cost - actual })));
    const debts = charged.filter(({ cost }) => cost < actual);
    if (debts.length > 0) await this.owe(debts.map((hit) => ({ ...hit, cost: actual - hit.cost })));
  }

  private async owe(debts: readonly Hit[]): Promise<void> {
    try {
      await this.store.decide(debts, { patience: Infinity });
    } catch (error) {
      this.policy.noticed(error);
    }
  }
}
