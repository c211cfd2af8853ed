import type { Decision } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import type { AnyRule } from '../../lib/rules/rule.js';

/** Takes permits with a rule of any algorithm. Held permits are not released. */
export async function take(
  limiter: RateLimiter,
  rule: AnyRule,
  cost?: number,
  subject = 'ann',
): Promise<Decision> {
  const options = cost === undefined ? {} : { cost };
  if (rule.algorithm !== 'concurrency') return limiter.consume(rule, subject, options);
  const { decision } = await limiter.hold(rule, subject, options);
  await limiter.close(); // As if its process had died: its lease is not renewed.
  return decision;
}
