import { afterEach } from '@jest/globals';
import type { Decision, Rule } from '../../lib/index.js';
import type { RateLimiter } from '../../lib/limiter.js';
import type { WaitOptions } from '../../lib/limiter/rate-limiter.options.js';

/** A call of `acquire` that waits. */
export interface Place {
  /** The result of `acquire`. */
  readonly answer: Promise<Decision>;
  /** Aborts the wait with a reason, with which `answer` rejects. */
  giveUp(reason: string): void;
}

/** Calls `acquire` for ann. */
export type Acquire = (limiter: RateLimiter, rule: Rule, options?: Omit<WaitOptions, 'signal'>) => Place;

/** For a `describe`: aborts all waits at the end of each test. */
export function places(): Acquire {
  const abandoned: (() => void)[] = [];
  afterEach(() => {
    for (const abandon of abandoned.splice(0)) abandon();
  });
  return (limiter, rule, options) => {
    const controller = new AbortController();
    const answer = limiter.acquire(rule, 'ann', { ...options, signal: controller.signal });
    answer.catch(() => undefined); // The test that awaits it gets the error.
    const giveUp = (reason: string) => controller.abort(new Error(reason));
    abandoned.push(() => giveUp('The test is over'));
    return { answer, giveUp };
  };
}
