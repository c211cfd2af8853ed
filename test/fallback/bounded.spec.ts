import { describe, expect, it } from '@jest/globals';
import { compileRule } from '../../lib/rules/compile-rule.js';
import type { Decision, Rule } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import { Dice } from '../flood/dice.js';
import { EVERY_KIND, firstExcess, type Allowed, type Bounded } from './bounds.js';
import { Fleet } from './fleet.js';

const LIMITS = [1, 3, 10, 50];
const REQUESTS = 150;
const LONGEST_PAUSE_MS = 400;

type Take = (limiter: RateLimiter, rule: Rule, cost: number) => Promise<Decision>;

const consume: Take = (limiter, rule, cost) => limiter.consume(rule, 'ann', { cost });
const reserve: Take = async (limiter, rule, cost) => {
  const reservation = await limiter.reserve(rule, 'ann', { cost });
  await reservation.settle(cost);
  return reservation.decision;
};
/** Takes permits, refunds them, and takes permits again: only the second charge counts. */
const takeTwice: Take = async (limiter, rule, cost) => {
  await limiter.refund(await limiter.consume(rule, 'ann', { cost }), { onlyLast: true });
  return limiter.consume(rule, 'ann', { cost });
};
/** In virtual time, no request waits: the decision contains the delay. */
const withPatience: Take = async (limiter, rule, cost) => {
  return limiter.engine.decide(limiter.engine.keyed(compileRule(rule)).hits('ann', cost), { maxWait: 2e6 });
};

/** Returns what the processes allow of random requests, separately for the store and the fallback. */
async function allowedBy(fleet: Fleet, kind: Bounded, rule: Rule, dice: Dice, { isLostAfter = 0 } = {}) {
  const allowed = { store: [] as Allowed[], fallback: [] as Allowed[] };
  const takes = [
    consume,
    consume,
    reserve,
    ...(isQueue(rule) && !kind.asAllowed ? [withPatience] : [takeTwice]),
  ];
  for (let nth = 0; nth < REQUESTS; nth++) {
    if (nth === isLostAfter) fleet.loseStore();
    const cost = kind.one ? 1 : 1 + dice.below(dice.below(3) === 0 ? 8 : 2);
    const decision = await dice.oneOf(takes)(dice.oneOf(fleet.limiters), rule, cost);
    const { source, delayMs } = decision;
    const by = source === 'fallback' ? allowed.fallback : allowed.store;
    if (decision.allowed) by.push({ at: fleet.time.now + (kind.asAllowed ? 0 : delayMs), permits: cost });
    if (dice.below(3) > 0) fleet.time.advance(dice.below(LONGEST_PAUSE_MS));
  }
  return allowed;
}

function isQueue({ algorithm }: Rule): boolean {
  return algorithm === 'gcra' || algorithm === 'token-bucket' || algorithm === 'leaky-bucket';
}

const boundOf = ({ within, capacity = (limit) => limit }: Bounded, limit: number, processes: number) => {
  const most = Math.max(limit, processes);
  return (milliseconds: number) => within(milliseconds, most, Math.max(capacity(limit), processes));
};

// A team that uses the fallback 'local' wants to know the most that an outage can allow.
describe.each([1, 2, 4, 16])('%i processes without their store', (processes) => {
  it.each(EVERY_KIND)(
    'processes without their store together allow at most max(limit, processes) permits by $name',
    async (kind) => {
      for (const limit of LIMITS) {
        for (let seed = 1; seed <= 3; seed++) {
          const fleet = new Fleet(processes);
          const rule = kind.rule(limit) as Rule;
          const { store, fallback } = await allowedBy(fleet, kind, rule, new Dice(seed));
          expect(store).toEqual([]);
          expect(fallback.length).toBeGreaterThan(0);
          const excess = firstExcess(fallback, boundOf(kind, limit, processes));
          expect([limit, seed, excess]).toEqual([limit, seed, undefined]);
          await fleet.close();
        }
      }
    },
  );

  it.each(EVERY_KIND)(
    "processes without their store allow no more than max(limit, processes) on top of the store's count, by $name",
    async (kind) => {
      for (const limit of LIMITS) {
        const fleet = new Fleet(processes);
        const rule = kind.rule(limit) as Rule;
        const { store, fallback } = await allowedBy(fleet, kind, rule, new Dice(limit), { isLostAfter: 40 });
        expect([limit, firstExcess(store, boundOf(kind, limit, 1))]).toEqual([limit, undefined]);
        expect([limit, firstExcess(fallback, boundOf(kind, limit, processes))]).toEqual([limit, undefined]);
        await fleet.close();
      }
    },
  );
});
