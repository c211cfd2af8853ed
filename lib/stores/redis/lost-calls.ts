import type { Adjustment, DecideOptions, Hit, HitResult } from '../../contracts/store.js';
import type { Call } from './call.js';
import { isDenied } from '../../contracts/undo.js';
import { wasNotExecuted } from './not-executed.js';
import { ReplyReader, type DecideReply } from './reply.js';

/** A request of a call. */
export interface Request {
  readonly hits: readonly Hit[];
  readonly options: DecideOptions;
}

/** Refunds, with retries if necessary. `isCertain` is false if the charge may not be executed yet, or never. */
export type Refund = (adjustments: readonly Adjustment[], isCertain: boolean) => void;

/**
 * Refunds what a call holds that got no reply in time: concurrency permits and prefetched permits. They are not used,
 * since the fallback has decided. See docs/adr/0022-lost-calls.md.
 *
 * A late reply contains what was taken. Without a reply, the connection was cut: the server may have executed the call,
 * or may still do so. The permits are then refunded by name, which takes effect once: the name of the lease or of the
 * prefetch.
 */
export function refundLost({ reply }: Call, requests: readonly Request[], refund: Refund): void {
  if (!reply || !requests.some(holds)) return;
  reply.then(
    (late) => refund(heldOf(late as DecideReply, requests), true),
    (error: unknown) => {
      if ((error as Error).name !== 'ReplyError' && !wasNotExecuted(error))
        refund(possiblyHeldOf(requests), false);
    },
  );
}

function holds({ hits, options }: Request): boolean {
  return (
    !options.dryRun && (options.prefetch !== undefined || hits.some(({ algorithm }) => algorithm.leases))
  );
}

function heldOf(reply: DecideReply, requests: readonly Request[]): Adjustment[] {
  const reader = new ReplyReader(reply);
  return requests.flatMap((request) => {
    let results: readonly HitResult[];
    try {
      results = reader.next(request.hits.length);
    } catch {
      return []; // A failed request holds nothing.
    }
    return holds(request) ? chargedOf(request, results) : [];
  });
}

function chargedOf({ hits, options }: Request, results: readonly HitResult[]): Adjustment[] {
  if (isDenied(hits, results)) return [];
  return hits.flatMap((hit, index) => {
    return results[index]!.allowed && hit.cost > 0 ? refundOf(hit, options) : [];
  });
}

function possiblyHeldOf(requests: readonly Request[]): Adjustment[] {
  return requests.flatMap(({ hits, options }) =>
    options.dryRun ? [] : hits.flatMap((hit) => refundOf(hit, options)),
  );
}

/** Returns the refund of what a hit holds under a name; empty if it holds nothing. */
function refundOf(hit: Hit, { prefetch }: DecideOptions): Adjustment[] {
  const { key, algorithm, parameters, block, cost, lease } = hit;
  // The name identifies the charge and its time.
  const refund = {
    key,
    algorithm,
    parameters,
    block,
    kind: 'refund',
    chargedAt: 0,
    source: 'redis',
  } as const;
  if (lease !== undefined) return [{ ...refund, cost, receipt: lease }];
  if (!prefetch) return [];
  return [{ ...refund, cost: prefetch.permits, receipt: 0, once: { name: prefetch.name, until: Infinity } }];
}
