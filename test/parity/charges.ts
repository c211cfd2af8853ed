import type { Amendment, Hit, Verdict } from '../../lib/index.js';
import { amend, decide, nothing, type Act } from './act.js';
import type { AmendDeed } from './random-timeline.js';

/** Debt beyond it would leave the integers that a double holds exactly. */
export const MOST_OWED = 20;

type Charge = Hit & Omit<Amendment, 'kind'>;

/** What requests have been charged, the newest first, by the rules as they were then. */
export class Charges {
  private readonly requests: (readonly Charge[])[] = [];

  note(hits: readonly Hit[], verdicts: readonly Verdict[], now: number): void {
    if (isDenied(hits, verdicts)) return;
    const charged = hits.flatMap((hit, index) => {
      const { allowed, resetAfter } = verdicts[index]!;
      return allowed && hit.cost > 0 ? [{ ...hit, receipt: hit.lease ?? now + resetAfter }] : [];
    });
    if (charged.length > 0) this.requests.unshift(charged);
  }

  /** What a deed asks of a store about the request that it means; nothing if there is none. */
  amend(deed: AmendDeed): Act {
    const request = this.requests[deed.charge] ?? [];
    switch (deed.does) {
      case 'settle':
        return settle(request, deed.actual);
      case 'renew':
        return amend(request.filter(({ algorithm }) => algorithm.leases).map(as('renew')));
      default: {
        const upTo = (charge: Charge) => ({ ...charge, cost: Math.min(deed.permits, charge.cost) });
        return amend(request.map(upTo).map(as(deed.does)));
      }
    }
  }
}

/** Charges what the work has cost in the end: what was too much goes back, what was too little is owed. */
function settle(request: readonly Charge[], actual: number): Act {
  const reserved = request.filter(({ algorithm }) => !algorithm.leases);
  const back = reserved.filter(({ cost }) => cost > actual);
  const owed = reserved.filter(({ cost }) => cost < actual);
  const refund = amend(back.map((charge) => as('refund')({ ...charge, cost: charge.cost - actual })));
  const debts = owed.map((charge) => ({ ...charge, cost: actual - charge.cost }));
  const owe = debts.length > 0 ? decide([debts], { patience: Infinity }) : nothing;
  return async (store) => [...(await refund(store)), ...(await owe(store))];
}

function as(kind: Amendment['kind']): (charge: Charge) => Amendment {
  return (charge) => ({ ...charge, kind });
}

/** Whether one of the rules that are enforced has denied the request. */
export function isDenied(hits: readonly Hit[], verdicts: readonly Verdict[]): boolean {
  return hits.some(({ observe }, index) => !observe && !verdicts[index]!.allowed);
}
