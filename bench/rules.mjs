// The rules to measure: the examples of every algorithm in the registry, by default with 100 permits a day.
import { ruleOf } from '../dist/repository/example.js';
import { algorithms } from '../dist/repository/registry.js';

const PER_DAY = { limit: 100, windowMs: 86_400_000 };

/**
 * Every example. `entries`: its state grows with each permit. `permitsHeld`: its permits are held, not consumed.
 * `ruleFor`: the rule for another limit.
 */
export const EXAMPLES = Object.values(algorithms).flatMap((algorithm) =>
  algorithm.examples.map((example) => {
    const ruleFor = (quota) => ({ ...ruleOf(algorithm, example, quota), name: 'login' });
    return {
      name: [algorithm.name, example.variant].filter(Boolean).join(', '),
      variant: example.variant,
      bound: algorithm.bound,
      rule: ruleFor(PER_DAY),
      ruleFor: (limit) => ruleFor({ ...PER_DAY, limit }),
      entries: example.keepsEntries === true,
      permitsHeld: algorithm.leases === true,
    };
  }),
);

/** Every algorithm without options, and the calendar window, which has a different state. */
export const RULES = EXAMPLES.filter(({ variant }) => variant === '' || variant === 'by the calendar');

/** Requests permits of a rule with the operation that supports it. */
export function hit(limiter, { rule, permitsHeld }, subject, options) {
  return permitsHeld ? limiter.hold(rule, subject, options) : limiter.consume(rule, subject, options);
}
