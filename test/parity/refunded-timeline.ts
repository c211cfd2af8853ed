import fc from 'fast-check';
import type { Receipt } from '../../lib/store.js';
import { unhurriedTimelines, type ForwardTimeline } from './forward-timeline.js';
import type { ReferenceUnderTest } from './reference-under-test.js';

/** A timeline in which some hits are refunded. */
export interface RefundedTimeline extends ForwardTimeline {
  refunds: ({ charge: number; isHalf: boolean } | undefined)[];
}

/** Permits at an instant. */
export interface Permits {
  readonly at: number;
  readonly permits: number;
}

const LONGEST = 80;

/** Rare enough that charges expire partly before. */
const refund = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.record({ charge: fc.nat(9), isHalf: fc.boolean() }) },
);

export function refundedTimelines({
  timelines = unhurriedTimelines,
}: ReferenceUnderTest): fc.Arbitrary<RefundedTimeline> {
  return fc
    .tuple(timelines, fc.array(refund, { minLength: LONGEST, maxLength: LONGEST }))
    .map(([timeline, refunds]) => ({ ...timeline, refunds }));
}

/** Returns the receipt of a charge, as a store creates it. */
export function receiptOf(name: string, lease: string, endsAt: number): Receipt {
  return name.startsWith('concurrency') ? lease : endsAt;
}

/** The state of the charges. */
export interface Played {
  /** The remaining permits of each charge at the end. */
  kept: Permits[];
  /** Every charge, and every refund as negative permits. */
  ledger: Permits[];
}

/**
 * Plays the timeline; each charge is refunded at most once.
 *
 * @param inAnyOrder if not set, a charge is not refunded if an earlier charge was refunded after it
 */
export function playRefunds(
  { name, create }: ReferenceUnderTest,
  { rule, hits, refunds }: RefundedTimeline,
  inAnyOrder: boolean,
): Played {
  const reference = create(rule);
  const charges: { at: number; permits: number; kept: number; receipt: Receipt }[] = [];
  const ledger: Permits[] = [];
  let open: typeof charges = [];
  for (const [index, { at, cost }] of hits.entries()) {
    const receipt = reference.lease;
    const { allowed, resetAfter } = reference.hit(at, cost);
    if (allowed && cost > 0) {
      const charge = { at, permits: cost, kept: cost, receipt: receiptOf(name, receipt, at + resetAfter) };
      charges.push(charge);
      open.unshift(charge);
      ledger.push({ at, permits: cost });
    }
    const { charge: which = 0, isHalf } = refunds[index] ?? {};
    const charge = refunds[index] && open[which % open.length];
    if (!charge) continue;
    open = inAnyOrder ? open.filter((other) => other !== charge) : open.slice(open.indexOf(charge) + 1);
    const back =
      isHalf && typeof charge.receipt === 'number' ? Math.ceil(charge.permits / 2) : charge.permits;
    if (!reference.refund(at, back, charge.receipt)) continue;
    charge.kept -= back;
    ledger.push({ at, permits: -back });
  }
  return { kept: charges.map(({ at, kept }) => ({ at, permits: kept })), ledger };
}
