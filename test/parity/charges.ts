import type { Adjustment, Hit, Result } from '../../lib/store.js';
import { adjust, type Act } from './act.js';
import type { AmendDeed } from './random-timeline.js';

/** Debt beyond this would exceed the exact integers of a double. */
export const MOST_OWED = 20;

type Charge = Hit & Omit<Adjustment, 'kind'>;

/** The charges of the requests, the newest first, with the rules at that time. */
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

  /** Returns the adjustments for the request that a step refers to; empty if there is none. */
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

/** Settles the actual cost: refunds the difference, or charges the overrun as debt. */
function settle(request: readonly Charge[], actual: number): Act {
  const reserved = request.filter(({ algorithm }) => !algorithm.leases);
  const back = reserved.filter(({ cost }) => cost > actual);
  const owed = reserved.filter(({ cost }) => cost < actual);
  const act = adjust([
    ...back.map((charge) => as('refund')({ ...charge, cost: charge.cost - actual })),
    ...owed.map((charge) => as('charge')({ ...charge, cost: actual - charge.cost })),
  ]);
  // Debt and refunds are counted separately, so that the tally shows whether both occurred.
  return async (store) =>
    (await act(store)).map((done, index) => (index < back.length ? done : { isCharged: done }));
}

function as(kind: Adjustment['kind']): (charge: Charge) => Adjustment {
  return (charge) => ({ ...charge, kind });
}

/** Whether one of the enforced rules has denied the request. */
export function isDenied(hits: readonly Hit[], results: readonly Result[]): boolean {
  return hits.some(({ shadow }, index) => !shadow && !results[index]!.allowed);
}
