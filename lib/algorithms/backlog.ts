import type { Next } from '../contracts/algorithm.js';
import { convert, isSameRate, isSlower, minus, NO_TIME, roundUp, type Rate, type Span } from './rate.js';

/**
 * The state of an algorithm that stores one instant, at which all permits are available again, and the rate at which
 * they were charged. See docs/adr/0029-changed-rates.md.
 */
export interface Backlog {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** Fraction of the instant, in units of 1/limit microsecond. */
  readonly part: number;
  readonly rate: Rate;
  /** Until when this rate also applies to a rule with a faster one (microseconds since the epoch); 0: until `instant`. */
  readonly until: number;
}

/** A backlog relative to the current time. */
export interface Queue {
  /** Time until its instant; zero if that has passed. */
  readonly ahead: Span;
  /** The rate at which permits become available: the rule's own, or a slower one. */
  readonly rate: Rate;
  /** How long the slower rate still applies; 0 if `rate` is the rule's own. */
  readonly slowFor: number;
}

/** Reads a backlog for a rule with the rate `own`. */
export function read(state: Backlog | undefined, now: number, own: Rate): Queue {
  if (state === undefined || state.instant < now) return { ahead: NO_TIME, rate: own, slowFor: 0 };
  const { instant, part, rate } = state;
  const ahead = { whole: instant - now, part };
  if (rate === own || isSameRate(rate, own)) return { ahead, rate: own, slowFor: 0 };
  if (!isSlower(rate, own)) return { ahead: convert(ahead, rate, own), rate: own, slowFor: 0 };

  const slowFor = (state.until === 0 ? now + roundUp(ahead) : state.until) - now;
  if (slowFor > 0) return { ahead, rate, slowFor };
  const rest = afterSlow(ahead, rate, slowFor, own);
  return { ahead: rest.whole < 0 ? NO_TIME : rest, rate: own, slowFor: 0 };
}

/** Returns `ahead` with the part after the slower rate's time converted to the rule's own rate. */
function afterSlow(ahead: Span, rate: Rate, slowFor: number, own: Rate): Span {
  const beyond = minus(ahead, { whole: slowFor, part: 0 }, rate.limit);
  if (beyond.whole < 0) return ahead;
  return { whole: slowFor + convert(beyond, rate, own).whole, part: 0 };
}

/** Returns the time until the queue is empty, in whole microseconds. */
export function lengthOf({ ahead, rate, slowFor }: Queue, own: Rate): number {
  return roundUp(slowFor === 0 ? ahead : afterSlow(ahead, rate, slowFor, own));
}

/**
 * Returns the time until the queue is short enough, in whole microseconds.
 *
 * @param most the allowed length at the rate that applies now
 * @param mostOwn the allowed length at the rule's own rate
 */
export function waitFor(queue: Queue, own: Rate, most: Span, mostOwn: Span): number {
  const { ahead, rate, slowFor } = queue;
  const wait = roundUp(minus(ahead, most, rate.limit));
  if (slowFor === 0 || wait < slowFor) return wait;
  const rest = afterSlow(ahead, rate, slowFor, own);
  return Math.max(slowFor, roundUp(minus(rest, mostOwn, own.limit)));
}

/** Returns the queue shortened by a span. */
export function leave(queue: Queue, less: Span): Queue {
  const ahead = minus(queue.ahead, less, queue.rate.limit);
  return { ...queue, ahead: ahead.whole < 0 ? NO_TIME : ahead };
}

/** Returns the state to store for a queue, and when it expires. */
export function write(now: number, { ahead, rate, slowFor }: Queue): Next<Backlog> {
  const { whole, part } = ahead;
  const until = slowFor === 0 ? 0 : now + slowFor;
  return {
    state: { instant: now + whole, part, rate, until },
    expiresAfter: part > 0 ? whole + 1 : whole,
  };
}
