import { problem, RateLimitConfigError } from './rate-limit-config.error.js';
import type { RuleHit } from './rule-hit.js';
import type { CompiledRule } from './compiled-rule.js';

/** What can be done with some rules and not with others. */
export type Operation = 'consume' | 'enter' | 'acquire' | 'peek' | 'block' | 'reset';

interface Kind {
  readonly allowed: string;
  readonly accepts: (rule: CompiledRule) => boolean;
}

const ANY: Kind = { allowed: 'any algorithm', accepts: () => true };

const KINDS: Record<Operation, Kind> = {
  consume: {
    allowed: 'any algorithm but concurrency, whose permits are held: use enter',
    accepts: ({ algorithm }) => !algorithm.leases,
  },
  enter: {
    allowed: 'concurrency; what comes by is to consume',
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
