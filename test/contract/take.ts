import type { AnyRule, Decision, RateLimiter } from '../../lib/index.js';

/** Takes permits by a rule of any kind. Those in flight are not given back. */
export async function take(
  limiter: RateLimiter,
  rule: AnyRule,
  cost?: number,
  subject = 'ann',
): Promise<Decision> {
  const options = cost === undefined ? {} : { cost };
  if (rule.algorithm !== 'concurrency') return limiter.consume(rule, subject, options);
  const { decision } = await limiter.hold(rule, subject, options);
  await limiter.close(); // As if its process had died: nobody renews.
  return decision;
}
