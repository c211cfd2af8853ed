import { describe, expect, it } from '@jest/globals';
import { HttpException } from '@nestjs/common';
import type { Decision } from '../contracts/decision.js';
import { RateLimitExceededException } from './rate-limit.exception.js';

const denied = {
  allowed: false,
  rule: 'login',
  limit: 5,
  windowMs: 60_000,
  remaining: 0,
  retryAfterMs: 2_000,
  resetAfterMs: 60_000,
  delayMs: 0,
};
const decision: Decision = { ...denied, source: 'memory', decisions: [denied] };

describe('the exception of a refusal', () => {
  it.each([
    ['the problem', undefined],
    ['a text', 'slow down'],
    ['an object with a message', { message: 'slow down' }],
    ['an object without one', { code: 'SLOW' }],
    ['an object whose message is no text', { message: 1 }],
  ])('says in logs what Nest makes of its name and body: %s', (_what, body) => {
    class RateLimitExceeded extends HttpException {}
    const { message } = new RateLimitExceededException(decision, body);
    const nests = new RateLimitExceeded(body ?? {}, 429).message;
    expect(message).toBe(nests === 'Rate Limit Exceeded' ? 'Rate Limit Exceeded Exception' : nests);
  });

  it("is one of Nest's, for filters and whoever looks at errors", () => {
    const exception = new RateLimitExceededException(decision);
    expect(exception).toBeInstanceOf(HttpException);
    expect(exception).toMatchObject({ name: 'RateLimitExceededException', decision });
    expect(exception.getStatus()).toBe(429);
  });
});
