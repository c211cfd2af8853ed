import { describe, expect, it } from '@jest/globals';
import { RateLimitExceededException } from '../../lib/index.js';
import { rateLimitMatchers, testDecision } from '../../lib/testing.js';
import type { ExpectedDenial } from '../../lib/testing/matchers.js';

const denied = testDecision({ allowed: false, rule: 'login', retryAfterMs: 60_000 });
const exception = new RateLimitExceededException(denied);
const headers = { 'retry-after': '60' };
const problem = exception.getResponse() as object;
const text = JSON.stringify(problem);

const DENIALS = [
  ['a response of fetch', new Response(text, { status: 429, headers })],
  ['a response of supertest', { status: 429, headers, body: problem }],
  ['a response of axios', { status: 429, headers, data: problem }],
  ['a response of inject()', { statusCode: 429, headers, body: text }],
  ['a decision', denied],
  ['an exception', exception],
] as const;

const match = (received: unknown, expected?: ExpectedDenial) =>
  rateLimitMatchers.toBeRateLimited(received, expected);
const failure = async (received: unknown, expected?: ExpectedDenial) => {
  const { pass, message } = await match(received, expected);
  return pass ? 'passed' : message();
};

describe('toBeRateLimited', () => {
  it.each(DENIALS)('toBeRateLimited accepts %s with its rule and its wait', async (_name, received) => {
    expect(await match(received)).toMatchObject({ pass: true });
    expect(await match(received, { rule: 'login', retryAfter: '1m' })).toMatchObject({ pass: true });
  });

  it.each(DENIALS)(
    'toBeRateLimited rejects %s of another rule or with another wait',
    async (_name, received) => {
      expect(await failure(received, { rule: 'mail' })).toBe(
        'expected a denial by rule "mail": denied by login',
      );
      expect(await failure(received, { retryAfter: '10s' })).toBe(
        'expected a denial: the wait is 60000 ms instead of 10000 ms',
      );
    },
  );

  it('toBeRateLimited rejects what was allowed', async () => {
    expect(await failure(new Response())).toBe('expected a denial: got a response with status 200');
    expect(await failure(testDecision())).toBe('expected a denial: got a decision that allowed');
  });

  it('toBeRateLimited reports a body that does not list the rules', async () => {
    expect(await failure(new Response('busy', { status: 429 }), { rule: 'login' })).toBe(
      'expected a denial by rule "login": the body does not list "violated-policies"',
    );
  });

  it('toBeRateLimited leaves the body of a response to the test', async () => {
    const response = new Response(text, { status: 429, headers });
    await match(response, { rule: 'login' });
    expect(await response.json()).toEqual(problem);
  });

  it('toBeRateLimited throws for a value that is no response, decision or exception', async () => {
    await expect(match('429')).rejects.toThrow('toBeRateLimited: got "429"; allowed: a response of fetch');
    await expect(match(null)).rejects.toThrow('toBeRateLimited: got null; allowed: a response of fetch');
    await expect(match(Promise.resolve(denied))).rejects.toThrow('toBeRateLimited: got a promise; await it');
  });

  it.each<[unknown, string]>([
    [
      { rul: 'login' },
      'toBeRateLimited.rul: no such option: did you mean "rule"?; allowed: rule, retryAfter',
    ],
    ['login', 'the options of toBeRateLimited: got "login"; allowed: an object with rule, retryAfter'],
    [{ rule: /login/ }, 'rule: got a RegExp; allowed: the name of a rule'],
    [{ retryAfter: 60 }, 'retryAfter: got 60: write "60s" or "60ms"; allowed: an integer with a unit'],
  ])('toBeRateLimited throws for the options %p, which would check nothing', async (expected, problem) => {
    await expect(match(denied, expected as ExpectedDenial)).rejects.toThrow(problem);
  });

  it('toBeRateLimited reports with .not what was denied', async () => {
    const { message } = await match(denied, { rule: 'login' });
    expect(message()).toBe('expected no denial by rule "login"');
  });
});
