import type { Next } from '../contracts/algorithm.js';
import { NO_TIME, roundUp, type Span } from './rate.js';

/**
 * A state that is one instant, by which all that has been taken is made up for: microseconds since the epoch,
 * and where that is not whole a part, in 1/limit of a microsecond.
 */
export type Backlog = number | { readonly instant: number; readonly part: number };

/** How far the instant is ahead of now; no time if it has passed. */
export function read(state: Backlog | undefined, now: number, limit: number): Span {
  if (state === undefined) return NO_TIME;
  const isWhole = typeof state === 'number';
  const instant = isWhole ? state : state.instant;
  if (instant < now) return NO_TIME;
  return { whole: instant - now, part: isWhole ? 0 : Math.min(state.part, limit - 1) };
}

/** The state for an instant so far ahead, and when it may be forgotten. */
export function write(now: number, ahead: Span): Next<Backlog> {
  const instant = now + ahead.whole;
  const { part } = ahead;
  return { state: part === 0 ? instant : { instant, part }, expiresAfter: roundUp(ahead) };
}
