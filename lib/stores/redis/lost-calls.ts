import type { Amendment, Ask, Hit, Outcome } from '../../contracts/store.js';
import type { Call } from './call.js';
import { hasDoneNothing } from './refund-retries.js';
import { ReplyReader, type DecideReply } from './reply.js';

/** A request of a call. */
export interface Request {
  readonly hits: readonly Hit[];
  readonly ask: Ask;
}

/** Refunds sooner or later; `isCertain` is false where the charge may not have been made yet, or never. */
export type Refund = (amendments: readonly Amendment[], isCertain: boolean) => void;

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

function holds({ hits, ask }: Request): boolean {
  return !ask.dryRun && (ask.takesAhead !== undefined || hits.some(({ algorithm }) => algorithm.leases));
}

function heldOf(reply: DecideReply, requests: readonly Request[]): Amendment[] {
  const reader = new ReplyReader(reply);
  return requests.flatMap((request) => {
    let outcome: Outcome;
    try {
      outcome = reader.next(request.hits.length);
    } catch {
      return []; // The request has failed, and holds nothing.
    }
    return holds(request) ? chargedOf(request, outcome) : [];
  });
}

function chargedOf({ hits, ask }: Request, { verdicts }: Outcome): Amendment[] {
  if (hits.some(({ observe }, index) => !observe && !verdicts[index]!.allowed)) return [];
  return hits.flatMap((hit, index) => {
    return verdicts[index]!.allowed && hit.cost > 0 ? refundOf(hit, ask) : [];
  });
}

function possiblyHeldOf(requests: readonly Request[]): Amendment[] {
  return requests.flatMap(({ hits, ask }) => (ask.dryRun ? [] : hits.flatMap((hit) => refundOf(hit, ask))));
}

/** The refund of what a hit holds by a name, if it does. */
function refundOf(hit: Hit, { takesAhead }: Ask): Amendment[] {
  const receipt = hit.lease ?? takesAhead?.name;
  return receipt === undefined ? [] : [{ ...hit, kind: 'refund', receipt }];
}
