import { describe, expect, it } from '@jest/globals';
import { compileRule } from '../../rules/compile-rule.js';
import { subjectNumber } from '../../rules/keys.js';
import type { Rule } from '../../rules/rule.js';
import type { FairShare } from '../fair-share-option.js';
import type { FairShareState } from './tenants.js';
import '../registry.js';

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
  const name = () => compiled.stateName;
  return {
    ask,
    refund,
    change,
    tenants,
    name,
    allowed: (...args: Parameters<typeof ask>) => ask(...args).allowed,
  };
}

describe('fair shares', () => {
  it('a tenant alone may take the whole limit', () => {
    const { ask } = timeline();
    expect(ask('ann', 0, 60)).toMatchObject({ allowed: true, remaining: 0, resetAfter: 60 * SECOND });
    expect(ask('ann', 0)).toMatchObject({ allowed: false, remaining: 0, retryAfter: SECOND });
  });

  it('a tenant that arrives after another has taken all gets its part at once, and then half of what is added', () => {
    const { ask } = timeline();
    ask('ann', 0, 60);
    const taken = { ann: 0, bob: 0 };
    const play = (from: number, until: number) => {
      for (let at = from; at < until; at += SECOND / 10) {
        // ann sends a hundred times as many requests.
        for (let nth = 0; nth < 100; nth++) if (ask('ann', at).allowed) taken.ann++;
        while (ask('bob', at).allowed) taken.bob++;
      }
      return { ...taken };
    };
    expect(play(0, SECOND)).toEqual({ ann: 0, bob: 30 });
    expect(play(SECOND, 61 * SECOND)).toEqual({ ann: 30, bob: 60 });
  });

  it('each tenant with a place is allowed when it comes for the first time, even if another has taken all', () => {
    const { ask, allowed } = timeline();
    ask('ann', 0, 60);
    const names = Array.from({ length: 200 }, (_, nth) => `tenant ${nth}`);
    // ann has one of a hundred places, and the others share one.
    expect(names.filter((name) => allowed(name, 0))).toEqual(names.slice(0, 100));
  });

  it('weights divide what is added', () => {
    const { ask } = timeline({ weights: { gold: 3 }, weight: 2 });
    ask('gold', 0, 60);
    const taken = { gold: 0, ann: 0 };
    for (let at = 0; at <= 50 * SECOND; at += SECOND / 10) {
      for (const name of ['ann', 'gold'] as const) if (ask(name, at).allowed) taken[name]++;
    }
    // ann came with her part of the burst, two fifths of 60.
    expect(taken).toEqual({ gold: 29, ann: 24 + 20 });
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
    // 120 were added; bob took 14 and keeps at most half of the burst.
    expect(ann).toBeGreaterThanOrEqual(120 - 14 - 30);
    expect(ann).toBeLessThanOrEqual(120 - 12);
  });

  it('a tenant keeps its place for ten windows after its last request, and the burst belongs to those that send', () => {
    const { ask, tenants } = timeline();
    ask('ann', 0);
    expect(ask('bob', 59 * SECOND, 0)).toMatchObject({ remaining: 30 });
    expect(ask('bob', 60 * SECOND, 0)).toMatchObject({ remaining: 60, part: { guaranteed: 30 } });
    ask('bob', 599 * SECOND);
    expect(tenants()).toBe(2);
    expect(ask('bob', 600 * SECOND)).toMatchObject({ part: { guaranteed: 60 } });
    expect(tenants()).toBe(1);
  });

  it('a denied request takes no permits, and is allowed when its retryAfter has passed, to the microsecond', () => {
    const { ask, allowed } = timeline({ weights: { gold: 7 } });
    ask('ann', 0, 50);
    ask('bob', 0, 5);
    ask('gold', 0, 60);
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
    expect([...taken.values()].reduce((sum, each) => sum + each)).toBeLessThanOrEqual(105 + 20);
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

  it('a refund returns the permits to their tenant, and nothing after they have been added again', () => {
    const { ask, refund } = timeline();
    const { resetAfter } = ask('ann', 0, 60);
    expect(refund('ann', 0, NOON + resetAfter, 10)).toBe(true);
    expect(ask('ann', 0, 11).allowed).toBe(false);
    expect(ask('ann', 0, 10).allowed).toBe(true);
    expect(refund('ann', 61 * SECOND, NOON + resetAfter)).toBe(false);
  });

  it.each([
    { to: { limit: 120 }, left: 70, isNew: false },
    { to: { limit: 30 }, left: 5, isNew: false },
    { to: { window: '1h' }, left: 60, isNew: true },
    { to: { burst: 120 }, left: 120, isNew: true },
  ] as const)(
    'after a change to $to, $left of 60 permits are left if 50 were taken',
    ({ to, left, isNew }) => {
      const { ask, change, name } = timeline();
      ask('ann', 0, 50);
      const before = name();
      change(to);
      expect(name() !== before).toBe(isNew);
      if (isNew) expect(timeline({}, to).ask('ann', 0, 0).remaining).toBe(left);
      else expect(ask('ann', 0, 0).remaining).toBe(left);
    },
  );

  it('a change of weights applies with the next request of each tenant', () => {
    const { ask, change } = timeline({ weights: { ann: 1 } });
    ask('ann', 0, 60);
    ask('bob', 0);
    expect(ask('bob', 0, 0).part).toEqual({ guaranteed: 30, borrowed: 0 });
    change({ share: { weights: { ann: 3 } } });
    ask('ann', 0);
    expect(ask('bob', 0, 0).part).toEqual({ guaranteed: 15, borrowed: 0 });
  });

  it('no time has more permits than the burst, the rate, the places and the largest cost allow, for random tenants, costs and gaps', () => {
    let seed = 1;
    const random = (most: number) => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const { ask } = timeline({ weights: { 'tenant 3': 17 } }, { limit: 7, window: '3s' });
    let taken = 0;
    let at = 0;
    for (let nth = 0; nth < 1000; nth++) {
      at += random(200_000);
      const cost = 1 + random(3);
      if (ask(`tenant ${random(30)}`, at, cost).allowed) taken += cost;
      expect(taken).toBeLessThanOrEqual(7 + (7 * at) / (3 * SECOND) + 102 + 3);
    }
    expect(taken).toBeGreaterThan((7 * at) / (3 * SECOND) - 7);
  });

  it('units are never lost: what is missing is what was taken and not added again', () => {
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
      const missing = state.tenants.reduce((sum, tenant) => sum + tenant.missing, -state.pool);
      expect(missing).toBe(taken * 3e6 - 7 * nth * 1000);
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
