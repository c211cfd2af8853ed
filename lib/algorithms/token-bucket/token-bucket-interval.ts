import { permitsOf, timePart, type Overdrawable } from '../burst.js';
import { NEVER, type Numbers, type Variant } from '../definition.js';
import type { Prefetchable } from '../prefetch-option.js';
import { EvenGrid, isAhead, type WindowState } from '../windows.js';
import { checkBucket, MEMORY, bucketPerProcess, type BucketOptions } from './bucket.js';

/** The options of a token bucket that a refill by the interval reads, or that it excludes. */
interface IntervalOptions extends BucketOptions, Overdrawable, Prefetchable {}

type Parameters = Numbers<'limit' | 'window' | 'burst' | 'initial' | 'overdraft'>;

class BucketGrid extends EvenGrid<Parameters> {
  /** A full bucket can be deleted if new buckets are full as well; otherwise it is kept for `MEMORY` more. */
  override expiryOf(state: WindowState, now: number, resetAfter: number, parameters: Parameters) {
    const { burst, initial } = parameters;
    const fullAfter = this.after(state.start, state.windows, parameters) - now;
    return initial < burst ? fullAfter + MEMORY : resetAfter;
  }
}

const GRID = new BucketGrid();

/**
 * The token bucket with `refill: 'interval'`: `limit` tokens are added at once after each whole window. The used tokens
 * are counted as in fixed windows: the next windows return them.
 */
export const intervalBucket: Variant<IntervalOptions, WindowState, keyof Parameters> & {
  readonly queues: true;
} = {
  name: 'token-bucket-interval',
  version: 2,
  parameters: ['limit', 'window', 'burst', 'initial', 'overdraft'],
  check(rule) {
    return rule.prefetch ? `prefetch: allowed only with the refill "continuous"` : checkBucket(rule);
  },
  keyParts: (rule) => timePart(rule.burst, rule),
  capacity: ({ burst }) => burst,
  perProcess: bucketPerProcess,
  compile(rule) {
    const { limit, window, overdraft = false } = rule;
    const burst = permitsOf(rule.burst, rule);
    return { limit, window, burst, initial: rule.initial ?? burst, overdraft: Number(overdraft) };
  },
  queues: true,

  step(state, now, cost, parameters, maxWait = 0) {
    const { limit, burst, initial, overdraft } = parameters;
    if (limit === 0) return NEVER;
    let current = GRID.read(state, now, parameters);
    const isNew = !state || (current.windows === 0 && current.start + MEMORY <= now);
    if (isNew) current = GRID.charge(current, now, burst - initial, parameters);

    const step = GRID.take(current, now, cost, maxWait, parameters, burst, overdraft);
    // A denial stores nothing, so that a new bucket gains no tokens.
    return isNew && !step.allowed ? { ...step, retryAfter: null } : step;
  },

  /** A charge expires as the bucket fills: after later charges, at most what can be left of it is refunded. */
  refund(state, now, cost, parameters, receipt, onlyLast) {
    const { limit, window } = parameters;
    if (limit === 0) return undefined;
    const current = GRID.read(state, now, parameters);
    const left = Math.ceil((Number(receipt) - now) / window) * limit;
    if (onlyLast && GRID.after(current.start, current.windows, parameters) !== receipt) return undefined;
    return GRID.refund(current, now, Math.min(cost, left), Number(receipt), parameters);
  },
  isAhead,
};
