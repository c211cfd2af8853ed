import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gcra } from '../../lib/algorithms/gcra/gcra.js';
import { leakyBucket } from '../../lib/algorithms/leaky-bucket/leaky-bucket.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import type { Verdict } from '../../lib/index.js';
import { Twin } from '../support/twin.js';
import type { Admitted } from './brute-force.js';
import { EVERY_TWIN } from './every-twin.js';
import { FORWARD, forwardTimelines, type ForwardTimeline } from './forward-timeline.js';

describe(`what may be admitted (PARITY_SEED=${FORWARD.seed})`, () => {
  it.each(EVERY_TWIN)('$name: not a permit more or less than a list of all hits says', (algorithm) => {
    checkAll(({ rule, hits }) => {
      const terms = { limit: BigInt(rule.limit), window: BigInt(rule.window), burst: BigInt(rule.burst) };
      const twin = algorithm.create(rule);
      const admitted: Admitted[] = [];
      const said = hits.map(({ at, cost }) => {
        const { allowed, remaining } = twin.hit(at, cost);
        return { at, cost, allowed, remaining };
      });
      const expected = hits.map(({ at, cost }) => {
        const left = Number(algorithm.model(admitted, BigInt(at), terms));
        const allowed = cost <= left;
        if (allowed && cost > 0) admitted.push({ at: BigInt(at), cost: BigInt(cost) });
        return { at, cost, allowed, remaining: allowed ? left - cost : left };
      });
      expect(said).toEqual(expected);
    });
  });

  it.each(EVERY_TWIN.filter(({ name }) => /log|cells/.test(name)))(
    '$name: no window of any position holds more than the limit',
    ({ create }) => {
      checkAll(({ rule, hits }) => {
        const twin = create(rule);
        const admitted = hits.filter(({ at, cost }) => twin.hit(at, cost).allowed);
        const held = admitted.map(({ at: end }) => {
          const within = admitted.filter(({ at }) => at > end - rule.window && at <= end);
          return within.reduce((sum, { cost }) => sum + cost, 0);
        });
        expect(Math.max(0, ...held)).toBeLessThanOrEqual(rule.limit);
      });
    },
  );

  it('leaky-bucket: hits go on no closer than the rate, any two of them', () => {
    checkAll(({ rule, hits }) => {
      const twin = new Twin(leakyBucket, { ...rule, burst: rule.burst - 1 });
      const released: { at: number; cost: number }[] = [];
      for (const { at, cost } of hits) {
        const { allowed, delay } = twin.hit(at, cost);
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
  });

  it('token-bucket and gcra: the same hits at the same rate and burst, and the same figures', () => {
    checkAll(({ rule, hits }) => {
      const bucket = new Twin(tokenBucket, rule);
      const cells = new Twin(gcra, rule);
      const said = hits.map(({ at, cost }) => figures(cells.hit(at, cost)));
      expect(said).toEqual(hits.map(({ at, cost }) => figures(bucket.hit(at, cost))));
    });
  });
});

function checkAll(check: (timeline: ForwardTimeline) => void): void {
  fc.assert(fc.property(forwardTimelines, check), FORWARD);
}

function figures({ allowed, remaining, retryAfter, resetAfter, delay }: Verdict): Verdict {
  return { allowed, remaining, retryAfter, resetAfter, delay };
}
