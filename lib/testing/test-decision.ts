import type { Decision, RuleDecision } from '../contracts/decision.js';

const ALLOWED: RuleDecision = {
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
  ...ALLOWED,
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
  const result: RuleDecision = { ...(fields.allowed === false ? DENIED : ALLOWED), ...given };
  return { ...result, source, decisions: decisions ?? [result] };
}
