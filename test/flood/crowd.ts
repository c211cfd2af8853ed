import type { RateLimiter, AnyRule } from '../../lib/index.js';
import { examplesFor } from '../support/examples.js';

/** One rule an algorithm, by default of 100 permits in so many milliseconds, named as the one whose bytes docs/algorithms tell. */
export function ruleOfEachAlgorithm(windowMs: number, limit = 100): readonly AnyRule[] {
  return examplesFor({ limit, windowMs })
    .filter(({ example }) => example.variant === '')
    .map(({ rule }) => ({ ...rule, name: 'login' }));
}

/** The IP address of the nth client, as long as the one whose bytes docs/algorithms tell: 2,190,240 of them. */
export function addressOf(nth: number): string {
  const octets = [10 + (Math.floor(nth / 156 / 156) % 90), 100 + (Math.floor(nth / 156) % 156)];
  return `198.${octets.join('.')}.${100 + (nth % 156)}`;
}

/** Whether the client is let in. Who enters is never released: its process has died. */
export async function isLetIn(limiter: RateLimiter, rule: AnyRule, client: string): Promise<boolean> {
  if (rule.algorithm === 'concurrency') return (await limiter.hold(rule, client)).allowed;
  return (await limiter.consume(rule, client)).allowed;
}
