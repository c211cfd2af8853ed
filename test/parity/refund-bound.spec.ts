import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DrawnRule } from './drawn-rule.js';
import { EVERY_REFERENCE } from './every-reference.js';
import { closeTimelines, FORWARD, unhurriedTimelines } from './forward-timeline.js';
import { playRefunds, refundedTimelines, type Permits, type RefundedTimeline } from './refunded-timeline.js';
import type { ReferenceUnderTest } from './reference-under-test.js';

/** Long timelines, because the effect of a wrong refund appears only late in the life of a charge. */
const MANY = 2000;

const rounded = fc.oneof(unhurriedTimelines, closeTimelines);

/** At most two permits at a time, so that a charge can expire gradually over some windows. */
const slow = unhurriedTimelines.map(({ rule, hits }) => {
  return { rule: { ...rule, limit: Math.min(rule.limit, 2) }, hits };
});

const BUCKETS = EVERY_REFERENCE.filter(({ name }) =>
  /^(token-bucket( by the interval)?|gcra)$/.test(name),
).map((algorithm) => ({ ...algorithm, timelines: algorithm.name.includes('interval') ? slow : rounded }));

/** These algorithms find the charge of a receipt separately. Here, a window starts with the first hit. */
const BY_CHARGE = EVERY_REFERENCE.filter(({ name }) => /clock|calendar|sliding|concurrency|leaky/.test(name));

/**
 * Here, a receipt contains only when a charge expires. A refund lets later charges expire earlier, but their receipts
 * do not change: if they are refunded as well, up to the expired part of the charge can be refunded again.
 */
const BY_INSTANT = EVERY_REFERENCE.filter(({ name }) => /^(token-bucket|gcra)$/.test(name));

describe('refunds', () => {
  it.each(BUCKETS)('$name: refunds never allow the burst twice beyond the refunded permits', (algorithm) => {
    checkRefunds(
      algorithm,
      (timeline) => {
        const { kept } = playRefunds(algorithm, timeline, false);
        expect(tooMuch(kept, algorithm, timeline.rule)).toEqual([]);
      },
      MANY,
    );
  });

  it.each(BUCKETS)('$name: refunds never allow more than they return', (algorithm) => {
    checkRefunds(algorithm, (timeline) => {
      const { ledger } = playRefunds(algorithm, timeline, true);
      expect(tooMuch(ledger, algorithm, timeline.rule)).toEqual([]);
    });
  });

  it.each([
    ...BY_CHARGE.map((algorithm) => ({ ...algorithm, inAnyOrder: true })),
    ...BY_INSTANT.map((algorithm) => ({ ...algorithm, inAnyOrder: false })),
  ])('$name: refunds allow no request that would be denied without the refunded requests', (algorithm) => {
    checkRefunds(algorithm, (timeline) => {
      const { kept } = playRefunds(algorithm, timeline, algorithm.inAnyOrder);
      const never = algorithm.create(timeline.rule);
      expect(kept.filter(({ at, permits }) => !never.hit(at, permits).allowed)).toEqual([]);
    });
  });
});

function checkRefunds(
  algorithm: ReferenceUnderTest,
  check: (timeline: RefundedTimeline) => void,
  runs = FORWARD.numRuns,
): void {
  const numRuns = Math.min(runs, algorithm.atMost ?? Infinity);
  fc.assert(fc.property(refundedTimelines(algorithm), check), { ...FORWARD, numRuns });
}

/** Returns the intervals in which more permits were charged than the burst and the rate allow. */
function tooMuch(came: readonly Permits[], { name }: ReferenceUnderTest, rule: DrawnRule): string[] {
  const beyond: string[] = [];
  for (const [index, { at: start }] of came.entries()) {
    let permits = 0;
    for (const { at, permits: more } of came.slice(index)) {
      permits += more;
      if (permits > rule.burst && permits - rule.burst > broughtIn(at - start, name, rule))
        beyond.push(`${permits} within ${at - start}`);
    }
  }
  return beyond;
}

/** The most permits that become available in a number of microseconds. */
function broughtIn(time: number, name: string, { limit, window }: DrawnRule): number {
  if (!name.includes('interval')) return Number((BigInt(limit) * BigInt(time)) / BigInt(window));
  // The rest of a charge is known only per window, so that almost one permit too many can be refunded.
  return limit * (Math.floor(time / window) + 1) + limit - 1;
}
