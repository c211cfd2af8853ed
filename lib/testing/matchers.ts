import { shown as shownValue } from '../contracts/shown.js';
import type { Decision, RuleDecision } from '../contracts/decision.js';
import { fieldsIn } from '../contracts/fields.js';
import { parseDuration, type Duration } from '../contracts/duration.js';
import { durationOption, readOptions } from '../contracts/options.js';

const ALLOWED_DECISION: RuleDecision = {
  allowed: true,
  rule: 'default',
  limit: 10,
  windowMs: 60_000,
  remaining: 9,
  retryAfterMs: 0,
  resetAfterMs: 6000,
  delayMs: 0,
};

const DENIED: RuleDecision = {
  ...ALLOWED_DECISION,
  allowed: false,
  remaining: 0,
  retryAfterMs: 60_000,
  resetAfterMs: 60_000,
};

/**
 * Returns a decision for unit tests of handlers and filters: of a rule `default` with 10 permits per minute, except
 * for the fields given. A denial has a wait of one minute.
 *
 * @example
 * throw new RateLimitExceededException(testDecision({ allowed: false, rule: 'login' }));
 */
export function testDecision(fields: Partial<Decision> = {}): Decision {
  const { decisions, source = 'memory', ...given } = fields;
  const result: RuleDecision = { ...(fields.allowed === false ? DENIED : ALLOWED_DECISION), ...given };
  return { ...result, source, decisions: decisions ?? [result] };
}

/** A response of fetch, supertest, axios or Fastify's `inject`. */
interface AnyResponse {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly data?: unknown;
  clone?(): { text(): Promise<string> };
}

const ALLOWED =
  'a response of fetch, supertest, axios or inject(), a Decision, or a RateLimitExceededException';

/**
 * Returns what a response, a decision or an exception reports about a denial: the name of the value in messages, the rules
 * that denied if it lists them, and the wait, `null` if that does not help or is not reported.
 *
 * @throws TypeError if the value is neither a response nor a decision
 */
async function denialIn(received: unknown) {
  const value = Object(received) as AnyResponse & { readonly decision?: unknown };
  const decision = [value, value.decision].find(isDecision);
  if (decision) return ofDecision(decision);
  const status = typeof value.status === 'number' ? value.status : value.statusCode;
  if (received instanceof Promise) throw new TypeError('toBeRateLimited: got a promise; await it');
  if (typeof status !== 'number')
    throw new TypeError(`toBeRateLimited: got ${shownValue(received)}; allowed: ${ALLOWED}`);
  const seconds = headerOf(value.headers, 'retry-after');
  return {
    shown: `a response with status ${status}`,
    isDenied: status === 429,
    rules: rulesIn(await bodyOf(value)),
    retryAfterMs: seconds === null ? null : Number(seconds) * 1000,
  };
}

function isDecision(value: unknown): value is Decision {
  const { allowed, decisions } = Object(value) as Partial<Decision>;
  return typeof allowed === 'boolean' && Array.isArray(decisions);
}

function ofDecision({ allowed, decisions, retryAfterMs }: Decision) {
  const denying = decisions.filter((each) => !each.allowed && !each.shadow);
  return {
    shown: allowed ? 'a decision that allowed' : 'a decision that denied',
    isDenied: !allowed,
    rules: denying.map(({ rule }) => rule),
    retryAfterMs,
  };
}

function headerOf(headers: unknown, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = (Object(headers) as Readonly<Record<string, string | string[] | number | undefined>>)[name];
  return value === undefined ? null : String(value);
}

/** The body of a fetch response is read from a copy, so that the test can read it too. */
async function bodyOf(response: AnyResponse): Promise<unknown> {
  if (response.clone) return response.clone().text();
  return response.body ?? response.data;
}

function rulesIn(body: unknown): readonly string[] | undefined {
  const parsed = typeof body === 'string' ? fieldsIn(body) : body;
  const rules = (Object(parsed) as Record<string, unknown>)['violated-policies'];
  return Array.isArray(rules) ? rules.map(String) : undefined;
}

/** What `toBeRateLimited` checks besides the denial. */
export interface ExpectedDenial {
  /** Name of a rule that denied. A response lists it in its problem details. */
  readonly rule?: string;
  /** The wait; in a response `Retry-After`, in whole seconds. */
  readonly retryAfter?: Duration;
}

const OPTIONS = {
  rule: { allowed: 'the name of a rule', accepts: (value: unknown) => typeof value === 'string' },
  retryAfter: durationOption,
};

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
    const differences = differencesOf(denial, readOptions('toBeRateLimited', expected, OPTIONS));
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
  { shown, isDenied, rules, retryAfterMs }: Awaited<ReturnType<typeof denialIn>>,
  { rule, retryAfter }: ExpectedDenial,
) {
  if (!isDenied) return [`got ${shown}`];
  const differences: string[] = [];
  if (rule !== undefined && !rules) differences.push('the body does not list "violated-policies"');
  if (rule !== undefined && rules && !rules.includes(rule)) differences.push(`denied by ${rules.join(', ')}`);
  const expectedMs = retryAfter === undefined ? retryAfterMs : parseDuration(retryAfter)! / 1000;
  if (expectedMs !== retryAfterMs)
    differences.push(`the wait is ${retryAfterMs} ms instead of ${expectedMs} ms`);
  return differences;
}
