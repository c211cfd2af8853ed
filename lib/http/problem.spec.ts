import { describe, expect, it } from '@jest/globals';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { PROBLEM_JSON, problemDetails, unavailableDetails } from './problem.js';

const LOGIN: RuleDecision = {
  allowed: false,
  rule: 'login',
  limit: 5,
  windowMs: 60_000,
  remaining: 0,
  retryAfterMs: 12_000,
  resetAfterMs: 60_000,
  delayMs: 0,
};
const denial = (strictest: RuleDecision, ...others: RuleDecision[]): Decision => ({
  ...strictest,
  source: 'redis',
  decisions: [...others, strictest],
});
const detail = (fields: Partial<RuleDecision>) => problemDetails(denial({ ...LOGIN, ...fields })).detail;

describe('problemDetails', () => {
  it('contains the reason and the wait for programs and in words', () => {
    expect(PROBLEM_JSON).toBe('application/problem+json; charset=utf-8');
    expect(problemDetails(denial(LOGIN))).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota exceeded',
      status: 429,
      detail: 'Rule "login" allows 5 per 1 m; try again in 12 s.',
      'violated-policies': ['login'],
      retryAfterMs: 12_000,
    });
  });

  it('contains only the rules that denied, in the order of the headers', () => {
    const burst = { ...LOGIN, rule: 'burst', limit: 2, windowMs: 250, retryAfterMs: 100 };
    const daily = { ...LOGIN, rule: 'daily', allowed: true, retryAfterMs: 0 };
    const { 'violated-policies': violated, detail } = problemDetails(denial(LOGIN, burst, daily));
    expect(violated).toEqual(['login', 'burst']);
    expect(detail).toBe(
      'Rule "login" allows 5 per 1 m and rule "burst" allows 2 per 250 ms; try again in 12 s.',
    );
  });

  it('contains no window for a rule without one', () => {
    expect(detail({ limit: 0, windowMs: 0, retryAfterMs: null })).toBe(
      'Rule "login" allows 0; waiting will not help.',
    );
  });

  it('names the unit of a rule', () => {
    expect(detail({ unit: 'tokens' })).toMatch('Rule "login" allows 5 tokens per 1 m; try again in');
  });

  it('asks for less if a request takes more permits than there can be', () => {
    expect(detail({ retryAfterMs: null })).toBe(
      'Rule "login" allows 5 per 1 m; this request takes more at once, so ask for less.',
    );
  });

  it('states that waiting will not help if the request can never be allowed', () => {
    const problem = problemDetails(denial({ ...LOGIN, limit: 0, retryAfterMs: null }));
    expect(problem.detail).toBe('Rule "login" allows 0 per 1 m; waiting will not help.');
    expect(problem.retryAfterMs).toBeNull();
  });

  it.each([
    [1, '1 ms'],
    [999, '999 ms'],
    [1000, '1 s'],
    [90_000, '90 s'],
    [83_334, '84 s'],
    [150_000, '150 s'],
    [3_600_000, '1 h'],
    [604_800_000, '7 d'],
  ])('formats a window of %d ms as the rule does: %s', (windowMs, formatted) => {
    expect(detail({ windowMs })).toBe(`Rule "login" allows 5 per ${formatted}; try again in 12 s.`);
  });

  it.each([
    [0, '0 s'],
    [1, '1 s'],
    [11_001, '12 s'],
    [119_000, '119 s'],
    [121_000, '3 m'],
    [3_725_000, '63 m'],
    [43_217_000, '13 h'],
    [172_800_000, '2 d'],
  ])('rounds a wait of %d ms up to a readable time: %s', (retryAfterMs, formatted) => {
    expect(detail({ retryAfterMs })).toBe(`Rule "login" allows 5 per 1 m; try again in ${formatted}.`);
  });
});

describe('unavailableDetails', () => {
  it("describes a reduced capacity of the server, which is not the client's fault", () => {
    expect(
      unavailableDetails({
        ...denial({ ...LOGIN, retryAfterMs: 1000 }),
        source: 'fallback',
        fallback: 'deny',
      }),
    ).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporarily reduced capacity',
      status: 503,
      detail: 'The rate limit cannot be checked at the moment; try again in 1 s.',
      'violated-policies': ['login'],
      retryAfterMs: 1000,
    });
  });
});
