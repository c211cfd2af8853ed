import { parseDuration, type Duration } from '../contracts/duration.js';
import { denialIn, type Denial } from './rate-limited.js';

/** What `toBeRateLimited` checks besides the denial. */
export interface ExpectedDenial {
  /** Name of a rule that denied. A response lists it in its problem details. */
  readonly rule?: string;
  /** The wait; in a response `Retry-After`, in whole seconds. */
  readonly retryAfter?: Duration;
}

/** The result of a matcher, for Jest and Vitest. */
export interface MatcherResult {
  /** Whether the expectation holds. */
  readonly pass: boolean;
  /** Returns the text of the failure. */
  readonly message: () => string;
}

/**
 * Matchers for `expect.extend` of Jest or Vitest. An import of `nestjs-redis-rate-limit/testing/jest` or
 * `nestjs-redis-rate-limit/testing/vitest` registers them with their types.
 *
 * @example
 * await expect(response).toBeRateLimited({ rule: 'login', retryAfter: '1m' });
 */
export const rateLimitMatchers = {
  async toBeRateLimited(received: unknown, expected: ExpectedDenial = {}): Promise<MatcherResult> {
    const denial = await denialIn(received);
    const differences = differencesOf(denial, expected);
    const wanted = `a denial${expected.rule === undefined ? '' : ` by rule "${expected.rule}"`}`;
    const pass = differences.length === 0;
    return {
      pass,
      message: () =>
        pass ? `expected no ${wanted.slice(2)}` : `expected ${wanted}: ${differences.join('; ')}`,
    };
  },
};

function differencesOf(
  { shown, isDenied, rules, retryAfterMs }: Denial,
  { rule, retryAfter }: ExpectedDenial,
) {
  if (!isDenied) return [`got ${shown}`];
  const differences: string[] = [];
  if (rule !== undefined && !rules) differences.push('the body does not list "violated-policies"');
  if (rule !== undefined && rules && !rules.includes(rule)) differences.push(`denied by ${rules.join(', ')}`);
  const expectedMs = retryAfter === undefined ? retryAfterMs : millisecondsIn(retryAfter);
  if (expectedMs !== retryAfterMs)
    differences.push(`the wait is ${retryAfterMs} ms instead of ${expectedMs} ms`);
  return differences;
}

function millisecondsIn(duration: Duration): number {
  const microseconds = parseDuration(duration);
  if (microseconds === undefined)
    throw new TypeError(`toBeRateLimited: retryAfter is ${JSON.stringify(duration)}; write "60s"`);
  return microseconds / 1000;
}
