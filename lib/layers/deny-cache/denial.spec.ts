import { describe, expect, it } from '@jest/globals';
import { compileRule } from '../../rules/compile-rule.js';
import type { HitResult } from '../../contracts/store.js';
import { Denial } from './denial.js';
import { Keys } from '../../rules/keys.js';
import '../../algorithms/registry.js';

const keys = new Keys('rl:', () => 0);
const hits = (subject: string, cost?: number) =>
  keys.keyed(compileRule({ algorithm: 'gcra', window: '1m', limit: 10 })).hits(subject, cost);
const denied = (retryAfter: number, resetAfter: number): HitResult[] => [
  { allowed: false, remaining: 0, retryAfter, resetAfter, delay: 0, source: 'redis', now: 0 },
];
const inMs = (wait = NaN) => Math.ceil(wait / 1000);

describe('Denial', () => {
  it('counts retryAfter and resetAfter down as time passes', () => {
    const denial = new Denial('key', hits('ann'), denied(2500, 6100), 1_000_000, 1_002_500);
    const timesAfter = (after: number) => {
      const [result] = denial.at(1_000_000 + after) ?? [];
      return [inMs(result?.retryAfter ?? NaN), inMs(result?.resetAfter)];
    };
    const afters = [0, 99, 100, 499, 500, 1099, 1100, 1499, 1500, 2499];
    expect(afters.map(timesAfter)).toEqual(
      afters.map((after) => {
        const wait = Math.ceil((2500 - after) / 1000);
        return [wait, Math.ceil((6100 - after) / 1000)];
      }),
    );
  });

  it('returns the same results object from the second time on, until a value in milliseconds changes', () => {
    const denial = new Denial('key', hits('ann'), denied(5000, 5000), 0, 5000);
    const first = denial.at(0);
    const second = denial.at(1);
    expect(second).toMatchObject([{ allowed: false, retryAfter: 4999 }]);
    expect(first).toMatchObject([{ allowed: false, retryAfter: 5000 }]);
    expect(denial.at(999)).toBe(second);
    expect(denial.at(1000)).not.toEqual(second);
    expect(denial.at(1999)).toMatchObject([{ allowed: false, source: 'cache', retryAfter: 3001 }]);
  });

  it('returns no results at its end or later, nor before its start', () => {
    const denial = new Denial('key', hits('ann'), denied(5000, 5000), 100, 5100);
    expect(denial.at(5099)).toBeDefined();
    expect(denial.at(5100)).toBeUndefined();
    expect(denial.at(99)).toBeUndefined();
  });

  it('applies only to a request with the same subject, rule and cost', () => {
    const request = hits('ann');
    const denial = new Denial('key', request, denied(5000, 5000), 0, 5000);
    const [hit] = request;
    expect(denial.isOf(request)).toBe(true);
    expect(denial.isOf([{ ...hit! }])).toBe(true);
    expect(denial.isOf(hits('bob'))).toBe(false);
    expect(denial.isOf([{ ...hit!, cost: 2 }])).toBe(false);
    expect(denial.isOf([{ ...hit!, parameters: { ...hit!.parameters } }])).toBe(false);
    expect(denial.isOf([hit!, hit!])).toBe(false);
  });
});
