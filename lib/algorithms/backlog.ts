import type { Algorithm, Next, MaxWait, Step } from '../contracts/algorithm.js';
import { allow, deny, NEVER, type Numbers } from './definition.js';
import { extend, isDebt, minus, NO_TIME, permitsIn, roundUp, spanOf, type Span } from './rate.js';
import { setBack, SLACK } from '../contracts/clock.js';

/**
 * The state of an algorithm that stores one instant, at which all permits are available again: in microseconds since the
 * epoch, or with what it needs besides. Most states are a number.
 */
export type Backlog = number | FineBacklog;

interface FineBacklog {
  /** Microseconds since the epoch. */
  readonly instant: number;
  /** Fraction of the instant, in units of 1/`limit` microsecond. */
  readonly part: number;
  /** The limit with which the fraction was calculated. */
  readonly limit: number;
  /**
   * When the state was written, in microseconds since the epoch; `undefined` if the instant is at most `time` ahead of
   * it, which is enough to recognise that the clock was set back.
   */
  readonly written: number | undefined;
}

/** The rate of a rule, and `time`: how far its instant is ahead of now if the whole capacity is used, as the key has it. */
export type Pace = Numbers<'limit' | 'window' | 'time'>;

/** A rate with a burst: `full` and `fullPart` are the span in which a burst becomes available. */
export type BurstPace = Pace & Numbers<'burst' | 'full' | 'fullPart' | 'overdraft'>;

type Refund = Algorithm<Backlog, Pace>['refund'];

/** Returns the time until the instant of a state. A fraction of another limit is rounded up. */
export function read(state: Backlog | undefined, now: number, { limit, time }: Pace): Span {
  if (state === undefined) return NO_TIME;
  const isNumber = typeof state === 'number';
  const written = isNumber ? undefined : state.written;
  const ahead = instantOf(state) - now - (written === undefined ? 0 : setBack(written, now));
  if (ahead < 0) return NO_TIME;
  // The clock was set back by an unknown length: the whole capacity counts as used.
  if (written === undefined && ahead > time + SLACK) return { whole: time, part: 0 };
  if (isNumber || state.part === 0) return { whole: ahead, part: 0 };
  return state.limit === limit ? { whole: ahead, part: state.part } : { whole: ahead + 1, part: 0 };
}

function instantOf(state: Backlog): number {
  return typeof state === 'number' ? state : state.instant;
}

/** Returns the instant of a state, rounded up to whole microseconds. */
export function endOf(state: Backlog): number {
  return instantOf(state) + (typeof state === 'number' || state.part === 0 ? 0 : 1);
}

/** Whether the clock was set back since a state was written. */
export function isAhead(state: Backlog, now: number, { time }: Pace): boolean {
  if (typeof state === 'number' || state.written === undefined) return instantOf(state) - now > time + SLACK;
  return setBack(state.written, now) > 0;
}

/** Returns the state to store for an instant that is `ahead` of now, and when it expires. */
export function write(now: number, { whole, part }: Span, { limit, time }: Pace): Next<Backlog> {
  const instant = now + whole;
  const written = whole > time ? now : undefined;
  return {
    state: part === 0 && written === undefined ? instant : { instant, part, limit, written },
    expiresAfter: part > 0 ? whole + 1 : whole,
  };
}

/** Decides a request on a state, without spans if it is allowed at once at a rate of whole microseconds, as most are. */
export const takeFrom: Algorithm<Backlog, BurstPace>['step'] = (state, now, cost, pace, maxWait) => {
  const { limit, window, full, time } = pace;
  if (limit === 0) return NEVER;
  if (typeof state !== 'object' && window % limit === 0) {
    const interval = window / limit;
    const ahead = Math.max(0, (state ?? now) - now) + cost * interval;
    if (ahead <= full && ahead <= time)
      return allow(Math.floor((full - ahead) / interval), 0, ahead, now + ahead, ahead);
  }
  return take(read(state, now, pace), now, cost, pace, maxWait);
};

/** Decides a request at a rate with a burst: it is allowed if the instant is then at most a burst ahead of now. */
export function take(
  ahead: Span,
  now: number,
  cost: number,
  pace: BurstPace,
  maxWait: MaxWait = 0,
): Step<Backlog> {
  const { limit, window, burst, full, fullPart, overdraft } = pace;
  const most = { whole: full, part: fullPart };
  const remaining = permitsIn(minus(most, ahead, limit), limit, window);
  const need = spanOf(cost, limit, window);

  let wait = 0;
  if (cost > remaining) {
    const overdraws = cost > burst && overdraft === 1 && maxWait > 0 && isDebt(need);
    wait = roundUp(minus(ahead, minus(most, overdraws ? most : need, limit), limit));
    const isNever = cost > burst && !overdraws;
    if (maxWait < Infinity && (isNever || wait > maxWait)) {
      return deny(remaining, isNever ? null : wait - maxWait, roundUp(ahead));
    }
  }

  const { state, expiresAfter } = write(now, extend(ahead, need, limit), pace);
  return allow(Math.max(0, remaining - cost), wait, expiresAfter, state, expiresAfter);
}

/**
 * Returns the state after a refund. A charge expires gradually until the instant that it set, even if later charges have
 * moved that: at most the rest of the charge is refunded.
 */
export const refundBacklog: Refund = (state, now, cost, pace, expiresAt, onlyLast) => {
  const { limit, window } = pace;
  if (limit === 0) return undefined;
  const receipt = Number(expiresAt);
  const ahead = read(state, now, pace);
  const endsAt = now + roundUp(ahead);
  if (receipt <= now || endsAt <= now || (onlyLast && endsAt !== receipt)) return undefined;

  let back = spanOf(cost, limit, window);
  const left = receipt - now - (window % limit === 0 ? 0 : 1);
  if (endsAt !== receipt && back.whole > left) back = { whole: left, part: 0 };
  const rest = minus(ahead, back, limit);
  return write(now, rest.whole < 0 ? NO_TIME : rest, pace);
};
