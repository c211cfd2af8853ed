import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Receipt } from '../../lib/index.js';
import { EVERY_TWIN, type AnyTwin } from './every-twin.js';
import { FORWARD, forwardTimelines } from './forward-timeline.js';

const REFUNDS = { ...FORWARD, numRuns: 150 };

const remainingOf = (twin: AnyTwin, at: number) => twin.peek(at, 0).remaining;

describe.each(EVERY_TWIN)('what $name gives back', ({ name, create, capacity }) => {
  const receiptOf = (lease: string, endsAt: number): Receipt =>
    name.startsWith('concurrency') ? lease : endsAt;

  it('is all of a charge if it is given back at once, as if it had never been', () => {
    fc.assert(
      fc.property(forwardTimelines, ({ rule, hits }) => {
        const twin = create(rule);
        const never = create(rule);
        for (const [index, { at, cost }] of hits.entries()) {
          const { lease } = twin;
          const { allowed, resetAfter } = twin.hit(at, cost);
          if (index % 2 === 0 || !allowed || cost === 0) never.hit(at, cost);
          else expect(twin.refund(at, cost, receiptOf(lease, at + resetAfter))).toBe(true);
          expect([at, remainingOf(twin, at)]).toEqual([at, remainingOf(never, at)]);
        }
      }),
      REFUNDS,
    );
  });

  it('is never more than was charged, and never makes more than there is', () => {
    fc.assert(
      fc.property(forwardTimelines, ({ rule, hits }) => {
        const twin = create(rule);
        const charges: { cost: number; receipt: Receipt }[] = [];
        const lies: string[] = [];
        for (const [index, { at, cost }] of hits.entries()) {
          const { lease } = twin;
          const { allowed, resetAfter } = twin.hit(at, cost);
          if (allowed && cost > 0) charges.push({ cost, receipt: receiptOf(lease, at + resetAfter) });
          if (index % 3 > 0 || charges.length === 0) continue;
          const [charge] = charges.splice(index % charges.length, 1);
          const before = remainingOf(twin, at);
          twin.refund(at, charge!.cost, charge!.receipt);
          const after = remainingOf(twin, at);
          if (after > capacity(rule) || after < before || after > before + charge!.cost)
            lies.push(`${at}: ${before}, then ${after} for ${charge!.cost}`);
        }
        expect(lies).toEqual([]);
      }),
      REFUNDS,
    );
  });

  it('is nothing once the charge is gone by itself', () => {
    fc.assert(
      fc.property(forwardTimelines, ({ rule, hits }) => {
        const twin = create(rule);
        for (const { at, cost } of hits) {
          const { lease } = twin;
          const { allowed, resetAfter } = twin.hit(at, cost);
          if (!allowed || cost === 0) continue;
          const late = create(rule);
          late.state = twin.state;
          const gone = late.peek(at + resetAfter, 0);
          expect(late.refund(at + resetAfter, cost, receiptOf(lease, at + resetAfter))).toBe(false);
          expect(late.peek(at + resetAfter, 0).remaining).toBe(gone.remaining);
        }
      }),
      REFUNDS,
    );
  });
});
