import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toMilliseconds } from '../../lib/contracts/clock.js';
import { EVERY_TWIN } from './every-twin.js';
import { FORWARD, forwardTimelines, type ForwardTimeline } from './forward-timeline.js';

/** Expects that no timeline makes the check tell of a lie. */
function expectNoLies(check: (timeline: ForwardTimeline, tell: (lie: string) => void) => void): void {
  const property = fc.property(forwardTimelines, (timeline) => {
    const lies: string[] = [];
    check(timeline, (lie) => lies.push(lie));
    expect(lies).toEqual([]);
  });
  fc.assert(property, FORWARD);
}

describe.each(EVERY_TWIN)('what $name tells of the future', ({ create, capacity }) => {
  it('lets in who waits as long as it was told, or longer, and nobody who waits less', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const twin = create(rule);
      for (const { at, cost } of hits) {
        const { retryAfter } = twin.hit(at, cost);
        if (retryAfter === null || retryAfter === 0) continue;
        const rounded = toMilliseconds(retryAfter) * 1000;
        for (const waited of [retryAfter - 1, rounded - 1000]) {
          if (twin.peek(at + waited, cost).allowed)
            tell(`${at}: ${cost} fit after ${waited}, not ${retryAfter}`);
        }
        for (const waited of [retryAfter, rounded, retryAfter + rule.window / 3, retryAfter + rule.window]) {
          if (!twin.peek(at + Math.floor(waited), cost).allowed)
            tell(`${at}: ${cost} do not fit after ${waited}`);
        }
      }
    });
  });

  it('never lets in a cost of which it said never, and says so of no other', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const twin = create(rule);
      for (const { at, cost } of hits) {
        const { retryAfter } = twin.hit(at, cost);
        if ((retryAfter === null) !== cost > capacity(rule)) tell(`${at}: ${cost} fit after ${retryAfter}`);
      }
    });
  });

  it('has the full limit again when it says so, and not before', () => {
    expectNoLies(({ rule, hits }, tell) => {
      const twin = create(rule);
      for (const { at, cost } of hits) {
        const { resetAfter } = twin.hit(at, cost);
        const isFull = (after: number) => twin.peek(at + after, 0).remaining === capacity(rule);
        if (!isFull(resetAfter)) tell(`${at}: is not full after ${resetAfter}`);
        if (resetAfter > 0 && isFull(resetAfter - 1)) tell(`${at}: is full before ${resetAfter}`);
      }
    });
  });

  it('may be forgotten when it says so: an absent key decides like the expired one', () => {
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
        if (forgot.allowed && cost > 0) expiresAt = at + forgot.expiresAfter;
      }
    });
  });
});
