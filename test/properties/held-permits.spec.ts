import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Reference } from '../support/reference.js';
import { concurrency } from '../../lib/algorithms/concurrency/concurrency.js';

const LEASE = 12_000;

interface Holder {
  lease: string;
  permits: number;
}

/** An event, a number of twelfths of a lease after the previous one. */
const moves = fc.array(
  fc.record({
    after: fc.nat(11),
    does: fc.constantFrom('hold', 'hold', 'hold', 'release', 'crash', 'release late'),
    which: fc.nat(20),
    permits: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 20, maxLength: 80, size: 'max' },
);

describe('concurrency, while holders renew, release and crash', () => {
  it('live processes never hold more permits than the limit, and never lose one', () => {
    let entered = 0;
    const property = fc.property(fc.integer({ min: 1, max: 6 }), moves, (limit, story) => {
      const reference = new Reference(concurrency, { limit, window: 0 }, { lease: LEASE });
      const living: Holder[] = [];
      const dead: Holder[] = [];
      let now = 1_700_000_000_000_000;
      for (const { after, does, which, permits } of story) {
        now += (after * LEASE) / 12;
        for (const { lease } of living) expect(reference.renew(now, lease)).toBe(true);
        const at = which % Math.max(1, living.length);
        const { lease } = reference;
        if (does === 'hold' && reference.hit(now, permits).allowed) {
          entered++;
          living.push({ lease, permits });
        } else if (does === 'release') {
          for (const left of living.splice(at, 1))
            expect(reference.refund(now, left.permits, left.lease)).toBe(true);
        } else if (does === 'crash') dead.push(...living.splice(at, 1));
        else if (does === 'release late')
          for (const late of dead) reference.refund(now, late.permits, late.lease);
        const held = living.reduce((sum, each) => sum + each.permits, 0);
        expect(held).toBeLessThanOrEqual(limit);
        expect(reference.peek(now, 0).remaining).toBeLessThanOrEqual(limit - held);
      }
      // Permits of dead processes expire one lease later, and no others.
      for (let third = 0; third < 4; third++) {
        now += LEASE / 3;
        for (const { lease } of living) expect(reference.renew(now, lease)).toBe(true);
      }
      const held = living.reduce((sum, each) => sum + each.permits, 0);
      expect(reference.peek(now, 0).remaining).toBe(limit - held);
    });
    fc.assert(property, { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 500 });
    expect(entered).toBeGreaterThan(1000);
  });
});
