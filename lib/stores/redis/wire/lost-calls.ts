import { isDenied, type Adjustment, type DecideOptions, type Hit } from '../../../contracts/store.js';
import type { Adjuster } from './adjuster.js';
import type { Call, Request } from './call.js';
import { wasNotExecuted } from '../link/deadline.js';
import { ReplyReader } from './reply.js';

/**
 * Refunds what a call holds that got no reply in time: concurrency permits and prefetched permits. They are not used,
 * since the fallback has decided. See docs/adr/0022-lost-calls.md.
 *
 * A late reply contains what was taken. Without a reply, the connection was cut: the server may have executed the call,
 * or may still do so. The permits are then refunded by name, which takes effect once: the name of the lease or of the
 * prefetch.
 */
export function refundLost({ reply, requests }: Call, adjuster: Adjuster): void {
  if (!reply || !requests.some(holds)) return;
  reply.then(
    // The server has just replied; a failed refund is retried.
    (late) => adjuster.adjust(heldOf(requests, late)).catch(() => undefined),
    (error: unknown) => {
      if ((error as Error).name === 'ReplyError' || wasNotExecuted(error)) return;
      adjuster.retries.add(heldOf(requests), { isUncertain: true });
    },
  );
}

function holds({ hits, options }: Request): boolean {
  return (
    !options.dryRun && (options.prefetch !== undefined || hits.some(({ algorithm }) => algorithm.leases))
  );
}

/** Returns the refunds of what requests hold; without a reply, of what they may hold. */
function heldOf(requests: readonly Request[], reply?: unknown): Adjustment[] {
  const reader = reply ? new ReplyReader(reply, requests) : undefined;
  return requests.flatMap((request) => {
    const charged = reader ? chargedIn(request, reader) : request.hits;
    return holds(request) ? charged.flatMap((hit) => refundOf(hit, request.options)) : [];
  });
}

function chargedIn(request: Request, reader: ReplyReader): readonly Hit[] {
  const { hits } = request;
  try {
    const results = reader.next(request);
    if (isDenied(hits, results)) return [];
    return hits.filter(({ cost }, index) => results[index]!.allowed && cost > 0);
  } catch {
    return []; // A failed request holds nothing.
  }
}

/** Returns the refund of what a hit holds under a name; empty if it holds nothing. */
function refundOf(hit: Hit, { prefetch }: DecideOptions): Adjustment[] {
  const { key, algorithm, parameters, block, cost, lease } = hit;
  const counter = { key, algorithm, parameters, block, source: 'redis' } as const;
  // The name identifies the charge and its time.
  const refund = { ...counter, kind: 'refund', chargedAt: 0 } as const;
  if (lease !== undefined) return [{ ...refund, cost, receipt: lease }];
  if (!prefetch) return [];
  return [{ ...refund, cost: prefetch.permits, receipt: 0, once: { name: prefetch.name, until: Infinity } }];
}
