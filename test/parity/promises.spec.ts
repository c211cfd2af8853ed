import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gcra } from '../../lib/algorithms/gcra/gcra.js';
import { leakyBucket } from '../../lib/algorithms/leaky-bucket/leaky-bucket.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import type { Result } from '../../lib/store.js';
import { Reference } from '../support/reference.js';
import type { DrawnRule } from './drawn-rule.js';
import { checkTimelines, EVERY_REFERENCE } from './every-reference.js';
import { FORWARD, forwardTimelines } from './forward-timeline.js';
import { ms } from '../support/milliseconds.js';

describe('guarantees of algorithms', () => {
  it.each(EVERY_REFERENCE.filter(({ name }) => /log|cells/.test(name)))(
    '$name: no window at any position exceeds the limit',
    (algorithm) => {
      checkTimelines(algorithm, ({ rule, hits }) => {
        const reference = algorithm.create(rule);
        const admitted = hits.filter(({ at, cost }) => reference.hit(at, cost).allowed);
        const held = admitted.map(({ at: end }) => {
          const within = admitted.filter(({ at }) => at > end - rule.window && at <= end);
          return within.reduce((sum, { cost }) => sum + cost, 0);
        });
        expect(Math.max(0, ...held)).toBeLessThanOrEqual(rule.limit);
      });
    },
  );

  it('leaky-bucket: any two requests leave no closer together than the rate permits', () => {
    const property = fc.property(forwardTimelines, fc.boolean(), ({ rule, hits }, isHurried) => {
      const quota = { ...quotaOf(rule), burst: rule.burst - 1 };
      const reference = new Reference(
        leakyBucket,
        isHurried ? { ...quota, maxWait: ms(rule.maxDelay / 1000) } : quota,
      );
      const released: { at: number; cost: number }[] = [];
      for (const { at, cost } of hits) {
        const { allowed, delay } = reference.hit(at, cost);
        if (allowed && cost > 0) released.push({ at: at + delay, cost });
      }
      const tooClose: string[] = [];
      for (const [index, first] of released.entries()) {
        let permits = 0;
        for (let next = index + 1; next < released.length; next++) {
          permits += released[next - 1]!.cost;
          // Both instants are rounded up to a microsecond.
          const apart = released[next]!.at - first.at;
          if (apart < Math.floor((permits * rule.window) / rule.limit)) tooClose.push(`${permits}: ${apart}`);
        }
      }
      expect(tooClose).toEqual([]);
    });
    fc.assert(property, FORWARD);
  });

  it('token-bucket and gcra: the same rate and burst give the same decisions and figures', () => {
    const property = fc.property(forwardTimelines, ({ rule, hits }) => {
      const bucket = new Reference(tokenBucket, quotaOf(rule));
      const cells = new Reference(gcra, quotaOf(rule));
      const said = hits.map(({ at, cost }) => figures(cells.hit(at, cost)));
      expect(said).toEqual(hits.map(({ at, cost }) => figures(bucket.hit(at, cost))));
    });
    fc.assert(property, FORWARD);
  });
});

function quotaOf({ limit, window, burst }: DrawnRule): Pick<DrawnRule, 'limit' | 'window' | 'burst'> {
  return { limit, window, burst };
}

function figures({ allowed, remaining, retryAfter, resetAfter, delay }: Result): Result {
  return { allowed, remaining, retryAfter, resetAfter, delay };
}
