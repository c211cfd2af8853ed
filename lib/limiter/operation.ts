import { RateLimitConfigError } from '../contracts/rate-limit-config.error.js';
import type { RuleHit } from '../rules/rule-hit.js';
import type { CompiledRule } from '../rules/compiled-rule.js';

/** The operations of a limiter that take rules. */
export type Operation = 'consume' | 'reserve' | 'hold' | 'acquire' | 'peek' | 'block' | 'reset';

/** The rules that an operation supports. */
interface Kind {
  /** Completes the message "consume() needs …". */
  readonly needs: string;
  /** Completes the message "…; use …". */
  readonly instead: string;
  readonly accepts: (rule: CompiledRule) => boolean;
}

const CHARGED: Kind = {
  needs: 'a rule of an algorithm other than concurrency',
  instead: 'hold() instead',
  accepts: ({ algorithm }) => !algorithm.leases,
};

const KINDS: Partial<Record<Operation, Kind>> = {
  consume: CHARGED,
  reserve: CHARGED,
  hold: {
    needs: 'a concurrency rule',
    instead: 'consume() instead',
    accepts: ({ algorithm }) => algorithm.leases === true,
  },
  acquire: { ...CHARGED, instead: 'hold() with maxWait instead' },
};

const DELAYED: Kind = {
  needs: 'a rule whose algorithm can delay requests',
  instead: 'gcra, token-bucket or leaky-bucket',
  accepts: ({ queues }) => queues,
};

/**
 * Rejects rules that an operation does not support. The types reject them as well, but a rule may be untyped.
 *
 * @throws RateLimitConfigError if the operation does not support the algorithm of a rule
 */
export function checkOperation(operation: Operation, hits: readonly RuleHit[]): void {
  const kind = KINDS[operation];
  if (kind) checkKind(`${operation}()`, kind, hits);
}

/**
 * Rejects rules that cannot charge permits which are available only later.
 *
 * @throws RateLimitConfigError if there is one
 */
export function checkDelays(operation: Operation, hits: readonly RuleHit[]): void {
  checkKind(`${operation}() with maxWait`, DELAYED, hits);
}

function checkKind(operation: string, { needs, instead, accepts }: Kind, hits: readonly RuleHit[]): void {
  for (const { rule } of hits) {
    if (accepts(rule)) continue;
    const used = `rule "${rule.name}" uses ${rule.algorithm.name}`;
    throw new RateLimitConfigError([`${operation} needs ${needs}, but ${used}; use ${instead}`]);
  }
}
