import { describe, expect, it } from '@jest/globals';
import type { RuleDecision } from '../contracts/decision.js';
import { DecidedHit } from './decision.js';

function decision(rule: string, fields: Partial<RuleDecision>): RuleDecision {
  const fresh = { limit: 5, windowMs: 1000, remaining: 5, retryAfterMs: 0, resetAfterMs: 0, delayMs: 0 };
  return { allowed: true, rule, ...fresh, ...fields };
}

function strictestOf(...decisions: RuleDecision[]): string {
  return new DecidedHit(decisions, 'memory').rule;
}

describe('the decision for a request', () => {
  const roomy = decision('roomy', { remaining: 4, resetAfterMs: 10 });
  const tight = decision('tight', { remaining: 1, resetAfterMs: 10 });
  const slow = decision('slow', { remaining: 1, resetAfterMs: 5000 });
  const denied = decision('denied', { allowed: false, remaining: 3, retryAfterMs: 10 });
  const deniedLonger = decision('denied longer', { allowed: false, remaining: 3, retryAfterMs: 9000 });
  const deniedForGood = decision('denied for good', { allowed: false, remaining: 3, retryAfterMs: null });

  it('has the result of the strictest rule, in any order of the rules', () => {
    const byStrictness = [deniedForGood, deniedLonger, denied, slow, tight, roomy];
    for (let first = 0; first < byStrictness.length; first++) {
      const rest = byStrictness.slice(first);
      expect(strictestOf(...rest)).toBe(rest[0]!.rule);
      expect(strictestOf(...rest.toReversed())).toBe(rest[0]!.rule);
    }
  });

  it('has the result of the first rule if several are equally strict', () => {
    expect(strictestOf({ ...denied, rule: 'a' }, { ...denied, rule: 'b' })).toBe('a');
    expect(strictestOf({ ...tight, rule: 'b' }, { ...tight, rule: 'a' })).toBe('b');
  });

  it('contains the results of all rules in their order', () => {
    expect(new DecidedHit([roomy, denied, tight], 'redis')).toEqual({
      ...denied,
      source: 'redis',
      decisions: [roomy, denied, tight],
    });
  });
});
