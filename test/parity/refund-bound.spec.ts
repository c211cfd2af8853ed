import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { DrawnRule } from './drawn-rule.js';
import { EVERY_TWIN } from './every-twin.js';
import { closeTimelines, FORWARD, unhurriedTimelines } from './forward-timeline.js';
import { playRefunds, refundedTimelines, type Permits, type RefundedTimeline } from './refunded-timeline.js';
import type { TwinUnderTest } from './twin-under-test.js';

/** Runs: what a refund gives too much shows only late in the life of its charge. */
const MANY = 2000;

const rounded = fc.oneof(unhurriedTimelines, closeTimelines);

/** At most two come at a time, so that a charge may wear off for some windows. */
const slow = unhurriedTimelines.map(({ rule, hits }) => {
  return { rule: { ...rule, limit: Math.min(rule.limit, 2) }, hits };
});

const BUCKETS = EVERY_TWIN.filter(({ name }) => /^(token-bucket( by the interval)?|gcra)$/.test(name)).map(
  (algorithm) => ({ ...algorithm, timelines: algorithm.name.includes('interval') ? slow : rounded }),
);

/** They find a charge again, each by itself; but from the first hit on, a window starts with that hit. */
const BY_CHARGE = EVERY_TWIN.filter(({ name }) => /clock|calendar|sliding|concurrency|leaky/.test(name));

/**
 * They know only until when a charge lasts by its receipt. A refund lets those behind it end earlier, which
 * their receipts do not tell: if they are given back, too, as much of them may come back as has worn off.
 */
const BY_INSTANT = EVERY_TWIN.filter(({ name }) => /^(token-bucket|gcra)$/.test(name));

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
  algorithm: TwinUnderTest,
  check: (timeline: RefundedTimeline) => void,
  runs = FORWARD.numRuns,
): void {
  const numRuns = Math.min(runs, algorithm.atMost ?? Infinity);
  fc.assert(fc.property(refundedTimelines(algorithm), check), { ...FORWARD, numRuns });
}

/** The spans of time in which more came than the burst and what the rate brings. */
function tooMuch(came: readonly Permits[], { name }: TwinUnderTest, rule: DrawnRule): string[] {
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

/** The most permits that come in so many microseconds. */
function broughtIn(time: number, name: string, { limit, window }: DrawnRule): number {
  if (!name.includes('interval')) return Number((BigInt(limit) * BigInt(time)) / BigInt(window));
  // What is left of a charge is known no finer than by the window, so that nearly one more comes back.
  return limit * (Math.floor(time / window) + 1) + limit - 1;
}
