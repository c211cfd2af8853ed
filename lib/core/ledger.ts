import type { Ask, Hit, Store } from '../contracts/store.js';
import type { Charged } from './charge.js';

/**
 * Amends what has been charged. Never rejects because of a store: what could not be amended is gone by
 * itself in time.
 */
export class Ledger {
  /** @param failed is told when a store could not amend */
  constructor(private readonly failed: (error: unknown) => void) {}

  /** Says of each amendment whether there was anything to amend, `undefined` if the store cannot be asked. */
  async amend(
    charged: readonly Charged[],
    ask?: Pick<Ask, 'within'>,
  ): Promise<readonly (boolean | undefined)[]> {
    const amended = new Map<Charged, boolean>();
    const stores = new Set(charged.map(({ store }) => store));
    await Promise.all([...stores].map((store) => this.amendIn(store, charged, amended, ask)));
    return charged.map((each) => amended.get(each));
  }

  /** Charges what work has cost in the end, instead of what was charged for it. */
  async settle(charged: readonly Charged[], actual: number): Promise<void> {
    const difference = ({ cost }: Charged): number => actual - cost;
    const refunds = charged.filter((each) => difference(each) < 0);
    await this.amend(refunds.map((each) => ({ ...each, cost: -difference(each) })));
    const debts = charged.filter((each) => difference(each) > 0);
    // A block does not spare what work has cost.
    const owed = debts.map((each) => ({ ...each, block: undefined, cost: difference(each) }));
    await Promise.all(owed.map((each) => this.owe(each.store, each)));
  }

  private async amendIn(
    store: Store,
    charged: readonly Charged[],
    amended: Map<Charged, boolean>,
    ask?: Pick<Ask, 'within'>,
  ): Promise<void> {
    const own = charged.filter((each) => each.store === store);
    try {
      for (const [index, result] of (await store.amend(own, ask)).entries()) amended.set(own[index]!, result);
    } catch (error) {
      this.failed(error);
    }
  }

  private async owe(store: Store, debt: Hit): Promise<void> {
    try {
      await store.decide([debt], { patience: Infinity });
    } catch (error) {
      this.failed(error);
    }
  }
}
