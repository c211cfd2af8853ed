import { problem, RateLimitConfigError } from '../rules/rate-limit-config.error.js';
import type { RuleHit } from '../rules/rule-hit.js';
import type { CompiledRule } from '../rules/compiled-rule.js';

/** What can be done with some rules and not with others. */
export type Operation = 'consume' | 'hold' | 'acquire' | 'peek' | 'block' | 'reset';

interface Kind {
  readonly allowed: string;
  readonly accepts: (rule: CompiledRule) => boolean;
}

const ANY: Kind = { allowed: 'any algorithm', accepts: () => true };

const KINDS: Record<Operation, Kind> = {
  consume: {
    allowed: 'any algorithm but concurrency, whose permits are held: use hold',
    accepts: ({ algorithm }) => !algorithm.leases,
  },
  hold: {
    allowed: 'concurrency; for other algorithms use consume',
    accepts: ({ algorithm }) => algorithm.leases === true,
  },
  acquire: { allowed: 'gcra, token-bucket, leaky-bucket', accepts: ({ queues }) => queues },
  peek: ANY,
  block: ANY,
  reset: ANY,
};

/**
 * Refuses rules that an operation cannot work with. The types say so already, to whoever has them.
 *
 * @throws RateLimitConfigError
 */
export function checkOperation(operation: Operation, hits: readonly RuleHit[]): void {
  const { allowed, accepts } = KINDS[operation];
  for (const { rule } of hits) {
    if (accepts(rule)) continue;
    const path = `the algorithm of rule "${rule.name}" in ${operation}`;
    throw new RateLimitConfigError([problem(path, rule.algorithm.name, allowed)]);
  }
}
