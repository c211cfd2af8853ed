import { describe, expect, it } from '@jest/globals';
import type { Receipt } from '../../lib/store.js';
import { checkTimelines, EVERY_REFERENCE } from './every-reference.js';
import { receiptOf } from './refunded-timeline.js';
import type { AnyReference } from './reference-under-test.js';

const RUNS = 150;

/** The additional time of a cold start is not refunded, and its permits are refunded all or none. */
const NOT_COLD = EVERY_REFERENCE.filter(({ name }) => name !== 'token-bucket that warms up');
/** A subject that was charged once is no longer new. */
const NEVER_NEW = NOT_COLD.filter(({ atFirst }) => !atFirst);

const remainingOf = (reference: AnyReference, at: number) => reference.peek(at, 0).remaining;

describe('refunds', () => {
  it.each(NEVER_NEW)(
    '$name: an immediate refund returns the whole charge as if it had never been made',
    (algorithm) => {
      const { name, create } = algorithm;
      checkTimelines(
        algorithm,
        ({ rule, hits }) => {
          const reference = create(rule);
          const never = create(rule);
          const lies: string[] = [];
          for (const [index, { at, cost }] of hits.entries()) {
            const { lease } = reference;
            const { allowed, resetAfter } = reference.hit(at, cost);
            if (index % 2 === 0 || !allowed || cost === 0) never.hit(at, cost);
            else if (!reference.refund(at, cost, receiptOf(name, lease, at + resetAfter)))
              lies.push(`${at}: nothing`);
            const [left, meant] = [remainingOf(reference, at), remainingOf(never, at)];
            if (left !== meant) lies.push(`${at}: ${left}, not ${meant}`);
          }
          expect(lies).toEqual([]);
        },
        RUNS,
      );
    },
  );

  it.each(NOT_COLD)(
    '$name: a refund never returns more than was charged or than the rule can hold',
    (algorithm) => {
      const { name, create, capacity } = algorithm;
      checkTimelines(
        algorithm,
        ({ rule, hits }) => {
          const reference = create(rule);
          const charges: { cost: number; receipt: Receipt }[] = [];
          const lies: string[] = [];
          for (const [index, { at, cost }] of hits.entries()) {
            const { lease } = reference;
            const { allowed, resetAfter } = reference.hit(at, cost);
            if (allowed && cost > 0) charges.push({ cost, receipt: receiptOf(name, lease, at + resetAfter) });
            if (index % 3 > 0 || charges.length === 0) continue;
            const [charge] = charges.splice(index % charges.length, 1);
            const before = remainingOf(reference, at);
            reference.refund(at, charge!.cost, charge!.receipt);
            const after = remainingOf(reference, at);
            if (after > capacity(rule) || after < before || after > before + charge!.cost)
              lies.push(`${at}: ${before}, then ${after} for ${charge!.cost}`);
          }
          expect(lies).toEqual([]);
        },
        RUNS,
      );
    },
  );

  it.each(EVERY_REFERENCE)('$name: a refund returns nothing after the charge has expired', (algorithm) => {
    const { name, create } = algorithm;
    checkTimelines(
      algorithm,
      ({ rule, hits }) => {
        const reference = create(rule);
        const late = create(rule);
        const lies: string[] = [];
        for (const { at, cost } of hits) {
          const { lease } = reference;
          const { allowed, resetAfter } = reference.hit(at, cost);
          if (!allowed || cost === 0) continue;
          const endsAt = at + resetAfter;
          late.state = reference.state;
          const gone = remainingOf(late, endsAt);
          if (late.refund(endsAt, cost, receiptOf(name, lease, endsAt)))
            lies.push(`${at}: ${cost} at ${endsAt}`);
          const after = remainingOf(late, endsAt);
          if (after !== gone) lies.push(`${at}: ${gone}, then ${after}`);
        }
        expect(lies).toEqual([]);
      },
      RUNS,
    );
  });
});
