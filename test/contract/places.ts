import { afterEach } from '@jest/globals';
import type { AcquireOptions, Decision, QueueRule, RateLimiter } from '../../lib/index.js';

/** A place that is waited for. */
export interface Place {
  /** What `acquire` answers. */
  readonly answer: Promise<Decision>;
  /** Gives it up for a reason, with which `answer` rejects. */
  giveUp(reason: string): void;
}

/** Acquires a place for ann. */
export type Acquire = (
  limiter: RateLimiter,
  rule: QueueRule,
  options?: Omit<AcquireOptions, 'signal'>,
) => Place;

/** For a `describe`: places that are all given up when the test ends, so that no wait outlives it. */
export function places(): Acquire {
  const abandoned: (() => void)[] = [];
  afterEach(() => {
    for (const abandon of abandoned.splice(0)) abandon();
  });
  return (limiter, rule, options) => {
    const controller = new AbortController();
    const answer = limiter.acquire(rule, 'ann', { ...options, signal: controller.signal });
    answer.catch(() => undefined); // Whoever awaits it is told.
    const giveUp = (reason: string) => controller.abort(new Error(reason));
    abandoned.push(() => giveUp('The test is over'));
    return { answer, giveUp };
  };
}
