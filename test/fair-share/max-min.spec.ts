import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { subjectNumber } from '../../lib/rules/keys.js';
import '../../lib/algorithms/registry.js';

/** A generator of integers (Lehmer), so that the figures are the same everywhere. */
function generator(seed: number) {
  let state = seed;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return { next, between: (least: number, most: number) => least + Math.floor(next() * (most - least + 1)) };
}

interface Tenant {
  readonly name: string;
  readonly weight: number;
  /** Requests per second. */
  readonly demand: number;
  /** Whether it sends them evenly. */
  readonly isEven?: boolean;
}

/** The ideal: the rate is poured over the tenants by weight, and what one does not ask for goes to the others. */
export function waterFilling(tenants: readonly Tenant[], rate: number): Map<string, number> {
  const shares = new Map<string, number>();
  let open = [...tenants];
  let left = rate;
  for (;;) {
    const weights = open.reduce((sum, { weight }) => sum + weight, 0);
    const satisfied = open.filter(({ demand, weight }) => demand <= (left * weight) / weights);
    if (satisfied.length === 0) {
      for (const { name, weight } of open) shares.set(name, (left * weight) / weights);
      return shares;
    }
    for (const { name, demand } of satisfied) shares.set(name, demand);
    left -= satisfied.reduce((sum, { demand }) => sum + demand, 0);
    open = open.filter((each) => !satisfied.includes(each));
    if (open.length === 0) return shares;
  }
}

const LIMIT = 100;
const WINDOW_S = 10;
const RATE = LIMIT / WINDOW_S;
const START = Date.UTC(2024, 0, 1) * 1000;

/** Sends random requests for some windows after one of warm-up. Returns the permits per second of each tenant. */
function served(tenants: readonly Tenant[], seconds: number, random: () => number): Map<string, number> {
  const weights = Object.fromEntries(tenants.map(({ name, weight }) => [name, weight]));
  const rule = { algorithm: 'gcra', limit: LIMIT, window: `${WINDOW_S}s`, share: { weights } } as Rule;
  const { algorithm, parameters, bySubject } = compileRule(rule);
  const own = new Map(
    tenants.map(({ name }) => [name, { ...parameters, ...bySubject!(name, subjectNumber(name)) }]),
  );
  const gap = ({ demand, isEven }: Tenant) => ((isEven ? 1 : -Math.log(1 - random())) / demand) * 1e6;
  const next = new Map(tenants.map((tenant) => [tenant, gap(tenant)]));
  const taken = new Map(tenants.map(({ name }) => [name, 0]));
  const from = 2 * WINDOW_S * 1e6;
  const until = from + seconds * 1e6;
  let state: unknown;
  for (;;) {
    const [tenant, at] = [...next].reduce((first, each) => (each[1] < first[1] ? each : first));
    if (at >= until) break;
    next.set(tenant, at + gap(tenant));
    const step = algorithm.step(state, START + Math.floor(at), 1, own.get(tenant.name)!);
    state = step.allowed ? step.state : (step.asked?.state ?? state);
    if (step.allowed && at >= from) taken.set(tenant.name, taken.get(tenant.name)! + 1);
  }
  return new Map([...taken].map(([name, permits]) => [name, permits / seconds]));
}

describe('fair shares against ideal water-filling', () => {
  it('random demands and weights get what max-min fairness gives them, within 3 percent of the rate', () => {
    const { next, between } = generator(20_240_229);
    const deviations: number[] = [];
    let total = 0;
    let ideals = 0;
    for (let nth = 0; nth < 20; nth++) {
      const tenants = Array.from({ length: between(2, 12) }, (_, index): Tenant => {
        // From a twentieth of the rate to three times the rate.
        const demand = (RATE / 20) * 2 ** (next() * 6);
        return { name: `tenant ${index}`, weight: between(1, 5), demand };
      });
      const ideal = waterFilling(tenants, RATE);
      for (const [name, rate] of served(tenants, 200, next)) {
        deviations.push(Math.abs(rate - ideal.get(name)!) / RATE);
        total += rate;
        ideals += ideal.get(name)!;
      }
    }
    const percent = (share: number) => Math.round(share * 1000) / 10;
    const mean = deviations.reduce((sum, each) => sum + each) / deviations.length;
    expect({
      tenants: deviations.length,
      largest: percent(Math.max(...deviations)),
      mean: percent(mean),
      used: percent(total / ideals),
    }).toEqual({ tenants: 134, largest: 2.6, mean: 0.2, used: 99.9 });
  });

  it.each([
    { name: 'demands of 1:2:4:8 of the rate', demands: [1, 2, 4, 8], weights: [1, 1, 1, 1] },
    {
      name: 'demands of 1:2:4:8 of a tenth of the rate',
      demands: [0.1, 0.2, 0.4, 0.8],
      weights: [1, 1, 1, 1],
    },
    {
      name: 'a demand of ten times the rate beside two small ones',
      demands: [10, 0.1, 0.2],
      weights: [1, 1, 1],
    },
    { name: 'weights of 1:3', demands: [2, 2], weights: [1, 3] },
    { name: 'weights of 1:3 beside a small demand', demands: [2, 2, 0.05], weights: [1, 3, 1] },
    {
      name: 'one that sends at random beside even ones',
      demands: [0.2, 2, 3],
      weights: [1, 1, 1],
      isRandom: true,
    },
  ])('$name get what max-min fairness gives them, within 3 percent', ({ demands, weights, isRandom }) => {
    const { next } = generator(20_240_229);
    const tenants = demands.map((demand, index): Tenant => {
      return {
        name: `tenant ${index}`,
        weight: weights[index]!,
        demand: demand * RATE,
        isEven: isRandom !== true || index > 0,
      };
    });
    const ideal = waterFilling(tenants, RATE);
    for (const [name, rate] of served(tenants, 1000, next)) {
      expect(Math.abs(rate / ideal.get(name)! - 1)).toBeLessThan(0.03);
    }
  });
});
