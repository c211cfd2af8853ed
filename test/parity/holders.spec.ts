import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { concurrency } from '../../lib/algorithms/concurrency/concurrency.js';
import { Reference } from '../support/reference.js';
import { FORWARD } from './forward-timeline.js';

/** The holders of permits: each holds them until it releases them, or for one lease after its last renewal. */
interface Holder {
  readonly name: string;
  readonly permits: number;
  readonly isAlive: boolean;
  readonly endsAt: number;
}

const START = 1_700_000_040_000_000;

const limits = fc.record({
  limit: fc.integer({ min: 1, max: 12 }),
  lease: fc.constantFrom(3, 12, 1000, 7777, 30e6, 3600e6),
});

/** At most a third of a lease apart: all live holders renew at each. */
const events = fc.array(
  fc.record({
    twelfths: fc.oneof(fc.constant(0), fc.nat(4)),
    does: fc.constantFrom('hold', 'hold', 'hold', 'release', 'crash'),
    cost: fc.integer({ min: 1, max: 4 }),
    who: fc.nat(9),
  }),
  { minLength: 40, maxLength: 120, size: 'max' },
);

const permitsOf = (holders: readonly Holder[]) => holders.reduce((sum, { permits }) => sum + permits, 0);

describe('held permits', () => {
  it('a concurrency limit holds exactly while permits are renewed, released and lost', () => {
    let deaths = 0;
    const property = fc.property(limits, events, ({ limit, lease }, steps) => {
      const reference = new Reference(concurrency, { limit, window: 0 }, { lease });
      const lies: string[] = [];
      let holders: readonly Holder[] = [];
      let now = START;
      for (const { twelfths, does, cost, who } of steps) {
        now += Math.floor((lease * twelfths) / 12);
        for (const { name, isAlive } of holders) {
          if (isAlive && !reference.renew(now, name)) lies.push(`${now}: ${name} has lost its permits`);
        }
        holders = holders
          .map((holder) => (holder.isAlive ? { ...holder, endsAt: now + lease } : holder))
          .filter(({ endsAt }) => endsAt > now);

        const free = limit - permitsOf(holders);
        const chosen = holders[who % holders.length];
        if (does === 'hold') {
          const { lease: name } = reference;
          const { allowed } = reference.hit(now, cost);
          if (allowed !== cost <= free) lies.push(`${now}: ${cost} of ${free}: ${allowed}`);
          if (allowed) holders = [...holders, { name, permits: cost, isAlive: true, endsAt: now + lease }];
        } else if (chosen && does === 'release') {
          if (!reference.refund(now, chosen.permits, chosen.name))
            lies.push(`${now}: ${chosen.name} held nothing`);
          holders = holders.filter((holder) => holder !== chosen);
        } else if (chosen) {
          deaths++;
          holders = holders.map((holder) => (holder === chosen ? { ...holder, isAlive: false } : holder));
        }
        const { remaining } = reference.peek(now, 0);
        if (remaining !== limit - permitsOf(holders)) lies.push(`${now}: ${remaining} left`);
      }
      expect(lies).toEqual([]);
    });
    fc.assert(property, { ...FORWARD, numRuns: 300 });
    expect(deaths).toBeGreaterThan(1000);
  });
});
