import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gcra } from '../../lib/algorithms/gcra/gcra.js';
import { tokenBucket } from '../../lib/algorithms/token-bucket/token-bucket.js';
import { Reference } from '../support/reference.js';

const NOON = Date.UTC(2024, 0, 1, 12) * 1000;

const rules = fc.record({
  limit: fc.integer({ min: 1, max: 12 }),
  window: fc.oneof(fc.constantFrom(1, 7, 1000, 333_333, 1e6, 60e6), fc.integer({ min: 1, max: 20_000_000 })),
  burst: fc.integer({ min: 1, max: 12 }),
});

/** A delay is rounded up to a whole microsecond. */
const ROUNDED_UP = 1;

/** A request, with its distance to the one before and its maximum wait in twelfths of the window. */
const requests = fc.array(
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.nat(40)),
    cost: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 60 })),
    maxWait: fc.oneof(fc.constant(0), fc.nat(60), fc.constant(100_000)),
  }),
  { minLength: 20, maxLength: 60 },
);

interface Granted {
  readonly cost: number;
  /** When the request proceeds, in microseconds. */
  readonly at: number;
  /** When all permits are available again. */
  readonly fullAt: number;
}

const ALGORITHMS = [
  { name: 'gcra', atOnce: 0, create: (rule: Rule) => new Reference(gcra, { ...rule, overdraft: true }) },
  {
    name: 'token-bucket',
    atOnce: 0,
    create: (rule: Rule) => new Reference(tokenBucket, { ...rule, overdraft: true }),
  },
  {
    // Each refill adds the permits of a window at its end, up to a window earlier than one by one.
    name: 'token-bucket by the interval',
    atOnce: 1,
    create: (rule: Rule) => new Reference(tokenBucket, { ...rule, overdraft: true, refill: 'interval' }),
  },
];

interface Rule {
  readonly limit: number;
  readonly window: number;
  readonly burst: number;
}

describe.each(ALGORITHMS)('$name with an overdraft', ({ create, atOnce }) => {
  function expectOfAll(check: (rule: Rule, granted: readonly Granted[]) => readonly string[]): void {
    let overdrawn = 0;
    fc.assert(
      fc.property(rules, requests, (rule, hits) => {
        const counter = create(rule);
        const granted: Granted[] = [];
        let now = NOON;
        for (const { gap, cost, maxWait } of hits) {
          now += Math.floor((rule.window * gap) / 12);
          const step = counter.hit(now, cost, Math.floor((rule.window * maxWait) / 12));
          if (!step.allowed) continue;
          if (cost > rule.burst) overdrawn += 1;
          granted.push({ cost, at: now + step.delay, fullAt: now + step.resetAfter });
        }
        expect(check(rule, granted)).toEqual([]);
      }),
      { seed: Number(process.env['PARITY_SEED'] ?? 20_240_229), numRuns: 500 },
    );
    expect(overdrawn).toBeGreaterThan(1000);
  }

  it('any time contains at most one burst, or one request above it, and the permits of the rate', () =>
    expectOfAll((rule, granted) => {
      const { limit, window, burst } = rule;
      const wrong: string[] = [];
      for (const [first, { at }] of granted.entries()) {
        let sum = 0;
        let largest = burst;
        for (const charge of granted.slice(first)) {
          sum += charge.cost;
          largest = Math.max(largest, charge.cost);
          const allowed = largest + atOnce * limit + ((charge.at - at + ROUNDED_UP) * limit) / window;
          if (sum > allowed + 1e-6) wrong.push(`${sum} of ${allowed} in ${charge.at - at}`);
        }
      }
      return wrong;
    }));

  it('all permits are repaid at the rate of the rule before the reported reset', () =>
    expectOfAll(({ limit, window }, granted) => {
      const wrong: string[] = [];
      let sum = 0;
      const start = granted[0]?.at ?? 0;
      for (const { cost, fullAt } of granted) {
        sum += cost;
        const repaid = ((fullAt - start) * limit) / window;
        if (sum > repaid + atOnce * limit + 1e-6) wrong.push(`${sum} of ${repaid} until ${fullAt - start}`);
      }
      return wrong;
    }));
});
