import { describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { compileRule } from '../../lib/rules/compile-rule.js';
import { subjectNumber } from '../../lib/rules/keys.js';
import { openRedisStore } from '../support/redis-store.js';
import { uniquePrefix } from '../support/redis/shared-redis.js';
import { VirtualTime } from '../support/virtual-store.js';
import '../../lib/algorithms/registry.js';

const LIMIT = 3000;
/** Permits that the limit adds per second. */
const RATE = LIMIT / 60;
const SECOND = 1e6;
const START = Date.UTC(2024, 0, 1) * 1000;
/** Tenants that are not named, and the place that further ones share. */
const PLACES = 101;

type Decide = (tenant: string, at: number, cost: number) => boolean | Promise<boolean>;

interface Setting {
  readonly greedy: number;
  /** How often the limit all greedy tenants together demand. */
  readonly demand: number;
  readonly burst: number | undefined;
  /** Seconds between two requests of the slow tenant. */
  readonly every: number;
  readonly cost: number;
}

const ruleOf = (burst: number | undefined): Rule => ({
  name: 'api',
  algorithm: 'gcra',
  limit: LIMIT,
  window: '1m',
  share: {},
  ...(burst !== undefined && { burst }),
});

/** Decides with the reference implementation. */
function reference(rule: Rule) {
  const { algorithm, parameters, bySubject } = compileRule(rule);
  const own = new Map<string, typeof parameters>();
  let state: unknown;
  return (tenant: string, at: number, cost: number): boolean => {
    const known = own.get(tenant) ?? { ...parameters, ...bySubject!(tenant, subjectNumber(tenant)) };
    own.set(tenant, known);
    const step = algorithm.step(state, START + at, cost, known);
    state = step.allowed ? step.state : step.asked!.state;
    return step.allowed;
  };
}

/** All settings in which the rate of the slow tenant is below its part, and its cost at most the burst. */
function* settings(): Generator<Setting> {
  for (const greedy of [1, 3, 10, 19]) {
    for (const demand of [2, 10]) {
      for (const burst of [10, 100, undefined]) {
        // The last is longer than the burst takes to fill.
        for (const every of [0.5, 2, 5, burst ? 25 : 90]) {
          for (const cost of [1, 10, 50]) {
            const isPossible = cost / every < RATE / (greedy + 1) && cost <= (burst ?? LIMIT);
            if (isPossible) yield { greedy, demand, burst, every, cost };
          }
        }
      }
    }
  }
}

/** Returns the requests of the slow tenant that were lost, and the permits beyond the burst and the rate. */
async function lossOf(
  { greedy, demand, burst = LIMIT, every, cost }: Setting,
  decide: Decide,
  requests: number,
) {
  // Each greedy tenant sends some requests at once, until one is denied.
  const gap = (SECOND * greedy) / RATE;
  let next = 3 * SECOND + 7;
  let taken = 0;
  let beyond = 0;
  let lost = 0;
  const ask = async (tenant: string, at: number, permits: number) => {
    const isAllowed = await decide(tenant, at, permits);
    if (isAllowed) taken += permits;
    beyond = Math.max(beyond, taken - (RATE * at) / SECOND - burst);
    return isAllowed;
  };
  for (let nth = 0, asked = 0; asked < requests; nth += 1) {
    const at = Math.floor((nth * gap) / greedy);
    for (; next <= at && asked < requests; next += every * SECOND, asked += 1) {
      if (!(await ask('slow', next, cost))) lost += 1;
    }
    for (let sent = 0; sent < demand && (await ask(`greedy ${nth % greedy}`, at, 1));) sent += 1;
  }
  return { lost, beyond };
}

describe('a slow tenant beside greedy ones', () => {
  it.each([1, 3, 10, 19])(
    'loses no request while it sends evenly below its part, beside %i greedy tenants',
    async (greedy) => {
      for (const setting of settings()) {
        if (setting.greedy !== greedy) continue;
        const requests = setting.every > 5 ? 2 : 8;
        const { lost, beyond } = await lossOf(setting, reference(ruleOf(setting.burst)), requests);
        expect({ ...setting, lost }).toEqual({ ...setting, lost: 0 });
        expect(beyond).toBeLessThanOrEqual(PLACES + setting.cost);
      }
    },
    120_000,
  );

  it.each([
    { greedy: 1, demand: 10, burst: 100, every: 2, cost: 1 },
    { greedy: 3, demand: 2, burst: 10, every: 5, cost: 10 },
    { greedy: 10, demand: 2, burst: undefined, every: 2, cost: 1 },
  ])(
    'loses no request on Redis either: %j',
    async (setting) => {
      const time = new VirtualTime();
      const store = await openRedisStore({ clock: time.clock });
      const { algorithm, parameters, bySubject } = compileRule(ruleOf(setting.burst));
      const [start, key] = [time.now, `${uniquePrefix()}{api}:shares`];
      const decide: Decide = async (tenant, at, cost) => {
        time.now = start + at / 1000;
        const own = { ...parameters, ...bySubject!(tenant, subjectNumber(tenant)) };
        return (await store.decide([{ key, algorithm, parameters: own, cost }], {}))[0]!.allowed;
      };
      const { lost, beyond } = await lossOf(setting, decide, 10);
      expect(lost).toBe(0);
      expect(beyond).toBeLessThanOrEqual(PLACES + setting.cost);
      await store.close();
    },
    60_000,
  );

  it.each([10, 100, undefined])(
    'loses no request beside another that takes large costs, nor do several that come together, with a burst of %p',
    (burst) => {
      const decide = reference(ruleOf(burst));
      let lost = 0;
      for (let at = 0; at < 120 * SECOND; at += SECOND / 10) {
        decide('large', at, burst ?? LIMIT);
        for (let nth = 0; nth < 5; nth += 1) decide('greedy', at, 1);
        for (let nth = 0; nth < 50 && at % (2 * SECOND) === 0; nth += 1) {
          if (!decide(`slow ${nth}`, at + nth, 1)) lost += 1;
        }
      }
      expect(lost).toBe(0);
    },
  );
});

describe('10,000 subjects in rotation', () => {
  it.each([10, 100, undefined])(
    'neither take more than the bound nor deny five tenants that have places, with a burst of %p',
    (burst) => {
      const decide = reference(ruleOf(burst));
      const honest = ['ann', 'bob', 'cas', 'dan', 'eve'];
      for (const tenant of honest) decide(tenant, 0, 1);
      let taken = honest.length;
      let beyond = 0;
      let lost = 0;
      for (let nth = 1; nth <= 200 * 60; nth += 1) {
        const at = (nth * SECOND) / 200;
        if (decide(`subject ${nth % 10_000}`, at, 1)) taken += 1;
        // Each sends a request every five seconds, of which 2.4 would be below its part of 101.
        const index = (nth % 1000) - 500;
        if (honest[index] !== undefined) {
          if (decide(honest[index], at, 1)) taken += 1;
          else lost += 1;
        }
        beyond = Math.max(beyond, taken - (RATE * at) / SECOND - (burst ?? LIMIT));
      }
      expect(lost).toBe(0);
      expect(beyond).toBeLessThanOrEqual(PLACES + 1);
    },
    60_000,
  );
});
