import type { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';
import { examplesFor } from '../support/examples.js';

/**
 * One rule per algorithm, by default 100 permits per number of milliseconds. The names are those of the keys whose
 * bytes docs/algorithms states.
 */
export function ruleOfEachAlgorithm(windowMs: number, limit = 100): readonly AnyRule[] {
  return examplesFor({ limit, windowMs })
    .filter(({ example }) => example.variant === '')
    .map(({ rule }) => ({ ...rule, name: 'login' }));
}

/**
 * Returns the IP address of the nth client. It has as many characters as the one whose key's bytes docs/algorithms
 * states: 2,190,240 addresses do.
 */
export function addressOf(nth: number): string {
  const octets = [10 + (Math.floor(nth / 156 / 156) % 90), 100 + (Math.floor(nth / 156) % 156)];
  return `198.${octets.join('.')}.${100 + (nth % 156)}`;
}

/** Whether the request of the client is allowed. Held permits are never released, as if their process had died. */
export async function isLetIn(limiter: RateLimiter, rule: AnyRule, client: string): Promise<boolean> {
  if (rule.algorithm === 'concurrency') return (await limiter.hold(rule, client)).allowed;
  return (await limiter.consume(rule, client)).allowed;
}
