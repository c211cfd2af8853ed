import { describe, expect, it } from '@jest/globals';
import { toMilliseconds } from '../../lib/limiter/decision.js';
import { checkTimelines, EVERY_REFERENCE } from './every-reference.js';
import type { ForwardTimeline } from './forward-timeline.js';

const DAY = 86_400e6;

describe.each(EVERY_REFERENCE)('the times reported by $name', (algorithm) => {
  const { name, create, capacity, atFirst } = algorithm;

  /** Expects that no timeline finds a wrong wait. */
  function expectNoLies(check: (timeline: ForwardTimeline, tell: (lie: string) => void) => void): void {
    checkTimelines(algorithm, (timeline) => {
      const lies: string[] = [];
      check(timeline, (lie) => lies.push(lie));
      expect(lies).toEqual([]);
    });
  }

  it('a request is allowed after the reported wait and not before', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const reference = create(rule);
      for (const { at, cost } of hits) {
        const { retryAfter } = reference.hit(at, cost);
        if (retryAfter === null || retryAfter === 0) continue;
        const rounded = toMilliseconds(retryAfter) * 1000;
        for (const waited of [retryAfter - 1, rounded - 1000]) {
          if (reference.peek(at + waited, cost).allowed)
            tell(`${at}: ${cost} fit after ${waited}, not ${retryAfter}`);
        }
        // A client that waits until its bucket counts as new starts with fewer permits.
        const longer = atFirst ? [] : [retryAfter + rule.window / 3, retryAfter + rule.window];
        for (const waited of [retryAfter, rounded, ...longer]) {
          if (!reference.peek(at + Math.floor(waited), cost).allowed)
            tell(`${at}: ${cost} do not fit after ${waited}`);
        }
      }
    });
  });

  it('a cost is reported as never available only if it never fits', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const reference = create(rule);
      for (const { at, cost } of hits) {
        const { retryAfter, resetAfter } = reference.hit(at, cost);
        const isNever = retryAfter === null;
        const [most, least] = [capacity(rule), (atFirst ?? capacity)(rule)];
        if (isNever ? cost <= least : cost > most) tell(`${at}: ${cost} fit after ${retryAfter}`);
        for (const waited of [1, resetAfter, resetAfter + rule.window, resetAfter + DAY + 7 * rule.window]) {
          if (isNever && reference.peek(at + waited, cost).allowed)
            tell(`${at}: ${cost} fit after ${waited}`);
        }
      }
    });
  });

  it('the full limit is available when reported and not before', () => {
    // A queue with `maxWait` can be full again shortly before it is empty.
    const isExact = name !== 'leaky-bucket with a longest delay';
    expectNoLies(({ rule, hits }, tell) => {
      const reference = create(rule);
      for (const { at, cost } of hits) {
        const { allowed, resetAfter } = reference.hit(at, cost);
        if (atFirst && !(allowed && cost > 0)) continue; // A new subject whose requests are all denied stays new.
        const isFull = (after: number) => reference.peek(at + after, 0).remaining === capacity(rule);
        if (!isFull(resetAfter)) tell(`${at}: is not full after ${resetAfter}`);
        if (isExact && resetAfter > 0 && isFull(resetAfter - 1)) tell(`${at}: is full before ${resetAfter}`);
      }
    });
  });

  it('an absent key decides like an expired one', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const faithful = create(rule);
      const forgetful = create(rule);
      let expiresAt = Infinity;
      for (const { at, cost } of hits) {
        if (at >= expiresAt) forgetful.state = undefined;
        const [kept, forgot] = [faithful.hit(at, cost), forgetful.hit(at, cost)];
        for (const field of ['allowed', 'remaining', 'retryAfter', 'resetAfter'] as const) {
          if (kept[field] !== forgot[field]) tell(`${at}: ${field} ${kept[field]}, then ${forgot[field]}`);
        }
        if (!kept.allowed || cost === 0) continue;
        expiresAt = at + kept.expiresAfter;
        const [known, fresh] = [faithful, create(rule)].map((reference) => reference.peek(expiresAt, cost));
        if (known!.remaining !== fresh!.remaining) tell(`${at}: decides until after ${kept.expiresAfter}`);
      }
    });
  });
});
