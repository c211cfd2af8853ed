import type { Next } from '../contracts/algorithm.js';
import {
  convert,
  isSameRate,
  isSlower,
  LONGEST,
  minus,
  NO_TIME,
  plus,
  roundUp,
  type Rate,
  type Span,
} from './rate.js';

/**
 * A state that is one instant, by which all that has been taken is made up for, and the rate at which it was
 * counted, see docs/adr/0029-changed-rates.md.
 */
export interface Backlog {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** The rest of it, in 1/limit of a microsecond. */
  readonly part: number;
  readonly rate: Rate;
  /** Until when a rule with a faster rate goes by this one, in microseconds since the epoch; 0: as long as it lasts. */
  readonly until: number;
}

/** A backlog as it is now. */
export interface Queue {
  /** How far its instant is ahead; no time if it has passed. */
  readonly ahead: Span;
  /** The rate at which it is made up for: the rule's own, or a slower one. */
  readonly rate: Rate;
  /** How long that rate counts if it is not the rule's own; else 0. */
  readonly slowFor: number;
}

/** What is left of a backlog for a rule with a rate of its own. */
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

/** How far it is ahead once what lies behind the slower rate's time goes by the rule's own. */
function afterSlow(ahead: Span, rate: Rate, slowFor: number, own: Rate): Span {
  const beyond = minus(ahead, { whole: slowFor, part: 0 }, rate.limit);
  if (beyond.whole < 0) return ahead;
  return { whole: slowFor + convert(beyond, rate, own).whole, part: 0 };
}

/** How long until nothing of it is left, in whole microseconds. */
export function lengthOf({ ahead, rate, slowFor }: Queue, own: Rate): number {
  return roundUp(slowFor === 0 ? ahead : afterSlow(ahead, rate, slowFor, own));
}

/**
 * How long until it is no longer than it may be, in whole microseconds.
 *
 * @param most how long that is by the rate that counts now
 * @param mostOwn how long it is by the rule's own
 */
export function waitFor(queue: Queue, own: Rate, most: Span, mostOwn: Span): number {
  const { ahead, rate, slowFor } = queue;
  const wait = roundUp(minus(ahead, most, rate.limit));
  if (slowFor === 0 || wait < slowFor) return wait;
  const rest = afterSlow(ahead, rate, slowFor, own);
  return Math.max(slowFor, roundUp(minus(rest, mostOwn, own.limit)));
}

/** The queue with so much more. */
export function join(queue: Queue, more: Span): Queue {
  const ahead = plus(queue.ahead, more, queue.rate.limit);
  return { ...queue, ahead: ahead.whole < LONGEST ? ahead : { whole: LONGEST, part: 0 } };
}

/** The queue with so much less. */
export function leave(queue: Queue, less: Span): Queue {
  const ahead = minus(queue.ahead, less, queue.rate.limit);
  return { ...queue, ahead: ahead.whole < 0 ? NO_TIME : ahead };
}

/** The state, and when it may be forgotten. */
export function write(now: number, { ahead, rate, slowFor }: Queue): Next<Backlog> {
  const until = slowFor === 0 ? 0 : now + slowFor;
  return {
    state: { instant: now + ahead.whole, part: ahead.part, rate, until },
    expiresAfter: roundUp(ahead),
  };
}
