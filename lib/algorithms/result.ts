import type { Allowed, Denied } from '../contracts/algorithm.js';

/** Returns the result of a denied request. */
export function deny(remaining: number, retryAfter: number | null, resetAfter: number): Denied {
  return { allowed: false, remaining, retryAfter, resetAfter, delay: 0 };
}

/** Returns the result of an allowed request, with the state to store. */
export function allow<State>(
  remaining: number,
  delay: number,
  resetAfter: number,
  state: State,
  expiresAfter: number,
): Allowed<State> {
  return { allowed: true, remaining, retryAfter: 0, resetAfter, delay, state, expiresAfter };
}

/** The result for a limit of 0, which denies every request. */
export const NEVER = deny(0, null, 0);
