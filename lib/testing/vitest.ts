import { expect } from 'vitest';
import { rateLimitMatchers, type ExpectedDenial } from './matchers.js';

expect.extend(rateLimitMatchers);

interface RateLimitMatchers {
  /** Checks that a response, a decision or an exception is a denial by the rate limiter. */
  toBeRateLimited(expected?: ExpectedDenial): Promise<void>;
}

declare module 'vitest' {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-unused-vars, @typescript-eslint/no-empty-object-type -- has to be declared as Vitest does
  interface Matchers<T = any> extends RateLimitMatchers {}
}
