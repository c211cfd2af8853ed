import type { Next } from '../contracts/algorithm.js';
import { NO_TIME, roundUp, type Span } from './rate.js';

/** A state that is one instant, by which all that has been taken is made up for. */
export interface Backlog {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
}

/** How far the instant is ahead of now; no time if it has passed. */
export function read(state: Backlog | undefined, now: number, limit: number): Span {
  if (!state || state.instant < now) return NO_TIME;
  return { whole: state.instant - now, part: Math.min(state.part, limit - 1) };
}

/** The state for an instant so far ahead, and when it may be forgotten. */
export function write(now: number, ahead: Span): Next<Backlog> {
  return { state: { instant: now + ahead.whole, part: ahead.part }, expiresAfter: roundUp(ahead) };
}
