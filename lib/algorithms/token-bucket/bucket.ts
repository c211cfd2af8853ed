import { capacityOf, checkRate, permitsOf, type Capacity } from '../burst.js';
import type { Quota } from '../definition.js';

/** How long a full bucket is kept if a new one would not be full, in microseconds. */
export const MEMORY = 86_400e6;

/** The options of a bucket that starts with some of its tokens. */
export interface BucketOptions {
  readonly burst?: Capacity;
  readonly initial?: number;
}

/** Returns what is wrong with the tokens of a new bucket, or with the rate; `undefined` if nothing is. */
export function checkBucket(rule: Quota & BucketOptions): string | undefined {
  const burst = permitsOf(rule.burst, rule);
  const { cost = 1, initial = burst } = rule;
  if (initial > burst) return `initial is ${initial}; allowed: at most the burst, ${burst}`;
  if (initial < Math.min(cost, burst)) {
    return `initial is ${initial}; allowed: at least the cost, ${cost}, since a new subject's denial starts no bucket`;
  }
  return checkRate(rule);
}

/** Returns the options of one of several processes that share the rule. */
export function bucketPerProcess(
  { limit, burst = limit, initial, cost = 1 }: Quota & BucketOptions,
  processes: number,
): BucketOptions {
  const capacity = capacityOf(burst, processes);
  if (initial === undefined) return { burst: capacity };
  // A denial stores no bucket, so that one that starts with fewer tokens than the cost would never fill up.
  const start = Math.max(cost, Math.floor(initial / processes));
  return { burst: capacity, initial: typeof capacity === 'number' ? Math.min(capacity, start) : start };
}
