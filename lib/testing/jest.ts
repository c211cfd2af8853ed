import { expect } from '@jest/globals';
import { rateLimitMatchers, type ExpectedDenial } from './matchers.js';

expect.extend(rateLimitMatchers);

interface RateLimitMatchers {
  /** Checks that a response, a decision or an exception is a denial by the rate limiter. */
  toBeRateLimited(expected?: ExpectedDenial): Promise<void>;
}

declare module 'expect' {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars, @typescript-eslint/no-empty-object-type -- has to be declared as Jest does
  interface Matchers<R extends void | Promise<void>, T = unknown> extends RateLimitMatchers {}
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- of @types/jest
  namespace jest {
    // eslint-disable-next-line @typescript-eslint/no-unused-vars, @typescript-eslint/no-empty-object-type -- the same
    interface Matchers<R, T = {}> extends RateLimitMatchers {}
  }
}
