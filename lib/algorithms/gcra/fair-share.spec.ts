import { describe, expect, it } from '@jest/globals';
import { compileRule } from '../../rules/compile-rule.js';
import { subjectNumber } from '../../rules/key.js';
import type { Rule } from '../../rules/rule.js';
import type { FairShare } from '../fair-share-option.js';
import { totalOf, type FairShareState } from './tenants.js';

const NOON = Date.UTC(2024, 0, 1, 12) * 1000;
const SECOND = 1e6;

/** Decides requests of tenants one after the other: 60 permits a minute unless stated otherwise. */
function timeline(share: FairShare = {}, fields: Partial<Rule> = {}) {
  const rule = { algorithm: 'gcra', limit: 60, window: '1m', share, ...fields } as Rule;
  let compiled = compileRule(rule);
  let state: unknown;
  const ask = (tenant: string, at: number, cost = 1) => {
    const parameters = { ...compiled.parameters, ...compiled.bySubject!(tenant, subjectNumber(tenant)) };
    const step = compiled.algorithm.step(state, NOON + at, cost, parameters);
    state = step.allowed ? step.state : (step.asked?.state ?? state);
    return step;
  };
  const refund = (tenant: string, at: number, receipt: number, cost = 1) => {
    const parameters = { ...compiled.parameters, ...compiled.bySubject!(tenant, subjectNumber(tenant)) };
    const next = compiled.algorithm.refund(state, NOON + at, cost, parameters, receipt, false);
    state = next?.state ?? state;
    return next !== undefined;
  };
  const change = (to: Partial<Rule>) => (compiled = compileRule({ ...rule, ...to } as Rule));
  const tenants = () => (state as FairShareState).tenants.length;
  return { ask, refund, change, tenants, allowed: (...args: Parameters<typeof ask>) => ask(...args).allowed };
}

describe('fair shares', () => {
  it('a tenant alone may take the whole limit', () => {
    const { ask } = timeline();
    expect(ask('ann', 0, 60)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 60 * SECOND });
    expect(ask('ann', 0)).toMatchObject({ allowed: false, remaining: 0, retryAfter: SECOND });
  });

  it('a tenant that arrives after another has taken all gets its half of what is added', () => {
    const { ask } = timeline();
    ask('ann', 0, 60);
    expect(ask('bob', 0)).toMatchObject({ allowed: false, retryAfter: 2 * SECOND });
    expect(ask('ann', SECOND).allowed).toBe(false);
    const taken = { ann: 0, bob: 0 };
    for (let at = 0; at < 60 * SECOND; at += SECOND / 10) {
      // ann sends a hundred times as many requests.
      for (let nth = 0; nth < 100; nth++) if (ask('ann', at).allowed) taken.ann++;
      if (ask('bob', at).allowed) taken.bob++;
    }
    expect(taken).toEqual({ ann: 29, bob: 29 });
  });

  it('a tenant that comes for the first time is allowed while another holds more than a permit', () => {
    const { allowed } = timeline();
    const names = Array.from({ length: 60 }, (_, nth) => `tenant ${nth}`);
    const admitted = names.filter((name) => allowed(name, 0));
    // The others keep the last 18 permits, none of them more than one and a half.
    expect(admitted).toEqual(names.slice(0, 42));
    const { allowed: ofFew } = timeline({}, { limit: 100 });
    expect(names.slice(0, 50).filter((name) => !ofFew(name, 0))).toEqual([]);
  });

  it('weights divide what is added', () => {
    const { ask } = timeline({ weights: { gold: 3 }, weight: 2 });
    ask('gold', 0, 60);
    const taken = { gold: 0, ann: 0 };
    for (let at = 0; at <= 50 * SECOND; at += SECOND / 10) {
      for (const name of ['ann', 'gold'] as const) if (ask(name, at).allowed) taken[name]++;
    }
    expect(taken).toEqual({ gold: 30, ann: 20 });
  });

  it('what a tenant does not use goes to the others', () => {
    const { ask } = timeline();
    ask('ann', 0, 60);
    ask('bob', 0);
    let ann = 0;
    for (let at = 0; at <= 120 * SECOND; at += SECOND) {
      if (at % (10 * SECOND) === 0) ask('bob', at);
      if (ask('ann', at).allowed) ann++;
    }
    // 120 were added; bob asked for 12 and holds at most half of the limit.
    expect(ann).toBeGreaterThanOrEqual(120 - 12 - 30);
    expect(ann).toBeLessThanOrEqual(120 - 12);
  });

  it('a tenant is forgotten when it was idle for as long as the rule takes to be full', () => {
    const { ask, tenants } = timeline();
    ask('ann', 0);
    ask('bob', 59 * SECOND);
    expect(tenants()).toBe(2);
    ask('bob', 60 * SECOND);
    expect(tenants()).toBe(1);
    expect(ask('bob', 120 * SECOND, 60).allowed).toBe(true);
  });

  it('a denied request takes no permits, and is allowed when its retryAfter has passed, to the microsecond', () => {
    const { ask, allowed } = timeline({ weights: { gold: 7 } });
    ask('ann', 0, 50);
    ask('bob', 0, 5);
    const { retryAfter } = ask('gold', SECOND, 30);
    expect(ask('gold', SECOND, 30)).toMatchObject({ allowed: false, retryAfter });
    expect(allowed('gold', SECOND + retryAfter! - 2, 30)).toBe(false);
    expect(allowed('gold', SECOND + retryAfter!, 30)).toBe(true);
  });

  it('a limit that is smaller than the number of tenants is served in turn', () => {
    const { ask } = timeline({}, { limit: 5, window: '1s' });
    const taken = new Map<string, number>();
    for (let at = 0; at <= 20 * SECOND; at += SECOND / 10) {
      for (let nth = 0; nth < 20; nth++) {
        const name = `tenant ${nth}`;
        if (ask(name, at).allowed) taken.set(name, (taken.get(name) ?? 0) + 1);
      }
    }
    expect([...taken.values()].reduce((sum, each) => sum + each)).toBeLessThanOrEqual(105);
    expect(Math.min(...taken.values())).toBeGreaterThanOrEqual(3);
    expect(taken.size).toBe(20);
  });

  it('above a hundred tenants, further ones share a place, and named ones have their own', () => {
    const { ask, tenants } = timeline({ weights: { gold: 10 } }, { limit: 1100 });
    for (let nth = 0; nth < 150; nth++) ask(`name ${nth}`, nth);
    expect(tenants()).toBe(101);
    let gold = 0;
    for (let at = SECOND; at < 11 * SECOND; at += SECOND / 20) {
      for (let nth = 0; nth < 20; nth++) ask(`name ${((at / 7 + nth) % 10_000) | 0}`, at);
      if (ask('gold', at).allowed) gold++;
    }
    // 10 of 111 parts of 183 permits.
    expect(gold).toBeGreaterThanOrEqual(15);
  });

  it('retryAfter of a tenant that is denied while no permits are missing is when the other tenants are forgotten', () => {
    const { ask, refund, allowed } = timeline({ weights: { gold: 7 } }, { limit: 1, window: '1s' });
    const { resetAfter } = ask('gold', 0);
    ask('ann', 0);
    refund('gold', 0, NOON + resetAfter);
    expect(ask('bob', 0)).toMatchObject({ allowed: false, retryAfter: SECOND, resetAfter: 0 });
    expect(allowed('bob', SECOND)).toBe(true);
  });

  it('a refund returns the permits to their tenant, and nothing after they have been added again', () => {
    const { ask, refund } = timeline();
    const { resetAfter } = ask('ann', 0, 60);
    ask('bob', 0);
    expect(refund('ann', 0, NOON + resetAfter, 10)).toBe(true);
    expect(ask('bob', 0).allowed).toBe(false);
    expect(ask('ann', 0, 10).allowed).toBe(true);
    expect(refund('ann', 61 * SECOND, NOON + resetAfter)).toBe(false);
  });

  it.each([
    { to: { limit: 120 }, left: 70 },
    { to: { limit: 30 }, left: 0 },
    { to: { window: '1h' }, left: 10 },
    { to: { window: '1s' }, left: 10 },
  ] as const)('after a change to $to, 50 consumed permits stay consumed', ({ to, left }) => {
    const { ask, change } = timeline();
    ask('ann', 0, 50);
    change(to);
    expect(ask('ann', 0, 0).remaining).toBe(left);
  });

  it('a change of weights applies with the next request of each tenant', () => {
    const { ask, change } = timeline({ weights: { ann: 1 } });
    ask('ann', 0, 60);
    ask('bob', 0);
    change({ share: { weights: { ann: 3 } } });
    ask('ann', 0);
    expect(ask('ann', 8 * SECOND, 0).remaining).toBe(6);
    expect(ask('bob', 8 * SECOND, 0).remaining).toBe(2);
  });

  it('no time has more permits than the burst and the rate allow, for random tenants, costs and gaps', () => {
    let seed = 1;
    const random = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const { ask } = timeline({ weights: { 'tenant 3': 17 } }, { limit: 7, window: '3s' });
    let taken = 0;
    let at = 0;
    for (let nth = 0; nth < 1000; nth++) {
      at += random(200_000);
      const cost = 1 + random(3);
      if (ask(`tenant ${random(30)}`, at, cost).allowed) taken += cost;
      expect(taken).toBeLessThanOrEqual(7 + (7 * at) / (3 * SECOND));
    }
    expect(taken).toBeGreaterThan((7 * at) / (3 * SECOND) - 7);
  });

  it('units are never lost: what is left and what was taken is what was added', () => {
    const { algorithm, parameters, bySubject } = compileRule({
      algorithm: 'gcra',
      limit: 7,
      window: '3s',
      share: { weights: { b: 3 } },
    });
    let state: FairShareState | undefined;
    let taken = 0;
    for (let nth = 0; nth < 500; nth++) {
      const name = 'abcdefg'[nth % 7]!;
      const own = { ...parameters, ...bySubject!(name, subjectNumber(name)) };
      const step = algorithm.step(state, NOON + nth * 1000, 1, own);
      if (step.allowed) taken++;
      state = (step.allowed ? step.state : step.asked!.state) as FairShareState;
      const { at, pool, tenants } = state;
      const left = totalOf({ at, pool, tenants: [...tenants] });
      expect(left).toBe(Math.min(7 * 3e6, 7 * 3e6 + 7 * nth * 1000 - taken * 3e6));
    }
  });
});

describe('the option share', () => {
  it.each([
    [true, 'share: got true: write share: {} for equal shares'],
    [{ by: 'x-tenant' }, 'write `by` on the rule'],
    [
      { weights: { ann: 0 } },
      'share: got {"weights":{"ann":0}}; allowed: { weights: { name: an integer from 1',
    ],
    [{ weight: 1001 }, 'an integer from 1 to 1000'],
    [{ wieght: 2 }, 'share: got {"wieght":2}'],
  ])('%j is an error with the values allowed', (share, message) => {
    const rule = { algorithm: 'gcra', limit: 1, window: '1s', share } as unknown as Rule;
    expect(() => compileRule(rule)).toThrow(message);
  });

  it.each([
    [{ algorithm: 'fixed-window' }, 'share'],
    [{ block: '1m' }, 'block is "1m"; allowed: none with share'],
    [{ prefetch: { permits: 2 } }, 'none with gcra-fair-share'],
    [{ limit: 100_000, window: '1d' }, 'a burst of at most 26062 with this window, or a shorter window'],
  ])('with %j, it is an error', (fields, message) => {
    const rule = { algorithm: 'gcra', limit: 5, window: '1s', share: {}, ...fields } as unknown as Rule;
    expect(() => compileRule(rule)).toThrow(message);
  });
});
