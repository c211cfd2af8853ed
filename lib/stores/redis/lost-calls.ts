import type { Adjustment, DecideOptions, Hit, HitResult } from '../../contracts/store.js';
import type { Call } from './call.js';
import { isDenied } from '../../contracts/undo.js';
import { hasDoneNothing } from './done-nothing.js';
import { ReplyReader, type DecideReply } from './reply.js';

/** A request of a call. */
export interface Request {
  readonly hits: readonly Hit[];
  readonly options: DecideOptions;
}

/** Refunds sooner or later; `isCertain` is false where the charge may not have been made yet, or never. */
export type Refund = (adjustments: readonly Adjustment[], isCertain: boolean) => void;

/**
 * Refunds what a call without a reply in time holds: concurrency permits, and permits that were taken ahead.
 * Nobody uses them, since the fallback has decided. See docs/adr/0022-lost-calls.md.
 *
 * A reply that comes late says what was taken. Without any, the connection was cut: the server may have run the
 * call, or may run it still. What was taken is refunded by its name, which works once: the name of a concurrency
 * permit, or that of a take.
 */
export function takeBack({ reply }: Call, requests: readonly Request[], refund: Refund): void {
  if (!reply || !requests.some(holds)) return;
  reply.then(
    (late) => refund(heldOf(late as DecideReply, requests), true),
    (error: unknown) => {
      if ((error as Error).name !== 'ReplyError' && !hasDoneNothing(error))
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
      return []; // The request has failed, and holds nothing.
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

/** The refund of what a hit holds by a name, if it does. */
function refundOf(hit: Hit, { prefetch }: DecideOptions): Adjustment[] {
  const { key, algorithm, parameters, block, cost, lease } = hit;
  // The name finds the charge, and when it was made.
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
