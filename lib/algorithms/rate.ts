/**
 * A length of time to a fraction of a microsecond: whole microseconds, and a part counted in
 * 1/limit of a microsecond, so that rates which do not divide evenly (3 per 7 s) never drift.
 */
export interface Span {
  readonly whole: number;
  readonly part: number;
}

/** So many permits a window of microseconds. */
export interface Rate {
  readonly limit: number;
  readonly window: number;
}

/** No time at all. */
export const NO_TIME: Span = { whole: 0, part: 0 };

/** The longest debt, 71 years in microseconds: an instant so far ahead is an integer that a double holds. */
export const LONGEST = 2 ** 51;

const LONGEST_SPAN: Span = { whole: LONGEST, part: 0 };

/**
 * The span in which `permits` come back at `limit` permits per `window` microseconds:
 * permits x window / limit, at most `LONGEST`. Exact while permits x limit is below 2^53, and else, which
 * is debt only, rounded up.
 */
export function spanOf(permits: number, limit: number, window: number): Span {
  const rest = window % limit;
  if (rest === 0) return within(permits * (window / limit), 0);
  if (permits * limit > Number.MAX_SAFE_INTEGER) return within(Math.ceil((permits / limit) * window), 0);
  const fine = permits * rest;
  return within(permits * ((window - rest) / limit) + Math.floor(fine / limit), fine % limit);
}

function within(whole: number, part: number): Span {
  return whole < LONGEST ? { whole, part } : LONGEST_SPAN;
}

/** The most permits that can be owed at a rate: what comes back in `LONGEST`. */
export function mostOwed({ limit, window }: Rate): number {
  if (window % limit === 0) return Math.min(LONGEST, Math.floor(LONGEST / (window / limit)));
  return Math.min(LONGEST, Math.floor(LONGEST / window) * limit);
}

/** Whether permits come back at the same pace. */
export function isSameRate(one: Rate, other: Rate): boolean {
  if (one.limit === other.limit && one.window === other.window) return true;
  const isWhole = one.window % one.limit === 0 && other.window % other.limit === 0;
  return isWhole && one.window / one.limit === other.window / other.limit;
}

/** Whether permits come back more slowly. */
export function isSlower(one: Rate, other: Rate): boolean {
  return one.window / one.limit > other.window / other.limit;
}

/** How long at another rate the permits take that take a span at one, rounded up. */
export function convert({ whole, part }: Span, from: Rate, to: Rate): Span {
  const ratio = to.window / to.limit / (from.window / from.limit);
  return within(Math.ceil((whole + part / from.limit) * ratio), 0);
}

/** How many whole permits come back within a span; 0 for a negative one. */
export function permitsIn(span: Span, limit: number, window: number): number {
  if (span.whole < 0) return 0;
  if (window % limit === 0) return Math.floor(span.whole / (window / limit));
  const guess = Math.floor(((span.whole + span.part / limit) * limit) / window);
  if (isLonger(spanOf(guess, limit, window), span)) return guess - 1;
  return isLonger(spanOf(guess + 1, limit, window), span) ? guess : guess + 1;
}

// The scripts say these in a line where they need them: a call and its closure cost the server more.

export function isLonger(one: Span, other: Span): boolean {
  return one.whole > other.whole || (one.whole === other.whole && one.part > other.part);
}

/** A span and one more, whose parts are counted alike. */
export function plus(one: Span, more: Span, limit: number): Span {
  const part = one.part + more.part;
  const carry = part >= limit ? 1 : 0;
  return { whole: one.whole + more.whole + carry, part: part - carry * limit };
}

/** A span less another; `whole` is negative if that is the longer one. */
export function minus(one: Span, less: Span, limit: number): Span {
  const part = one.part - less.part;
  const borrow = part < 0 ? 1 : 0;
  return { whole: one.whole - less.whole - borrow, part: part + borrow * limit };
}

/** A span in whole microseconds, rounded up so that waiting that long is always enough. */
export function roundUp({ whole, part }: Span): number {
  return part > 0 ? whole + 1 : whole;
}
