import type { Adjustment, Hit, Result } from '../../lib/index.js';
import { adjust, type Act } from './act.js';
import type { AmendDeed } from './random-timeline.js';

/** Debt beyond it would leave the integers that a double holds exactly. */
export const MOST_OWED = 20;

type Charge = Hit & Omit<Adjustment, 'kind'>;

/** What requests have been charged, the newest first, by the rules as they were then. */
export class Charges {
  private readonly requests: (readonly Charge[])[] = [];

  note(hits: readonly Hit[], results: readonly Result[], now: number): void {
    if (isDenied(hits, results)) return;
    const charged = hits.flatMap((hit, index) => {
      const { allowed, resetAfter } = results[index]!;
      return allowed && hit.cost > 0
        ? [{ ...hit, receipt: hit.lease ?? now + resetAfter, chargedAt: now, source: 'redis' as const }]
        : [];
    });
    if (charged.length > 0) this.requests.unshift(charged);
  }

  /** What a deed asks of a store about the request that it means; nothing if there is none. */
  adjust(deed: AmendDeed): Act {
    const request = this.requests[deed.charge] ?? [];
    switch (deed.does) {
      case 'settle':
        return settle(request, deed.actual);
      case 'renew':
        return adjust(request.filter(({ algorithm }) => algorithm.leases).map(as('renew')));
      default: {
        const upTo = (charge: Charge) => ({ ...charge, cost: Math.min(deed.permits, charge.cost) });
        return adjust(request.map(upTo).map(as(deed.does)));
      }
    }
  }
}

/** Charges what the work has cost in the end: what was too much goes back, what was too little is owed. */
function settle(request: readonly Charge[], actual: number): Act {
  const reserved = request.filter(({ algorithm }) => !algorithm.leases);
  const back = reserved.filter(({ cost }) => cost > actual);
  const owed = reserved.filter(({ cost }) => cost < actual);
  const act = adjust([
    ...back.map((charge) => as('refund')({ ...charge, cost: charge.cost - actual })),
    ...owed.map((charge) => as('charge')({ ...charge, cost: actual - charge.cost })),
  ]);
  // A debt is told from a refund, so that the tally shows whether there were any.
  return async (store) =>
    (await act(store)).map((done, index) => (index < back.length ? done : { isCharged: done }));
}

function as(kind: Adjustment['kind']): (charge: Charge) => Adjustment {
  return (charge) => ({ ...charge, kind });
}

/** Whether one of the rules that are enforced has denied the request. */
export function isDenied(hits: readonly Hit[], results: readonly Result[]): boolean {
  return hits.some(({ shadow }, index) => !shadow && !results[index]!.allowed);
}
