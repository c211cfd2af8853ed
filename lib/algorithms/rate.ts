/**
 * A duration with a fraction of a microsecond, in units of 1/limit microsecond, so that rates that do not divide
 * evenly (3 per 7 s) never drift.
 */
export interface Span {
  readonly whole: number;
  readonly part: number;
}

/** A span of zero. */
export const NO_TIME: Span = { whole: 0, part: 0 };

/** The longest debt: 71 years in microseconds. A double represents an instant that far ahead exactly. */
export const LONGEST = 2 ** 51;

/** Whether a span can be charged as debt without being shortened to `LONGEST`, behind a wait of up to as long. */
export function isDebt({ whole }: Span): boolean {
  return whole < LONGEST / 2;
}

const LONGEST_SPAN: Span = { whole: LONGEST, part: 0 };

/**
 * Returns the span in which `permits` become available at `limit` permits per `window` microseconds:
 * permits x window / limit, at most `LONGEST`. Exact if permits x limit is below 2^53; above that, which only debt
 * reaches, rounded up.
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

/** Returns how many whole permits become available within a span; 0 for a negative span. */
export function permitsIn(span: Span, limit: number, window: number): number {
  if (span.whole < 0) return 0;
  if (window % limit === 0) return Math.floor(span.whole / (window / limit));
  const guess = Math.floor(((span.whole + span.part / limit) * limit) / window);
  if (isLonger(spanOf(guess, limit, window), span)) return guess - 1;
  return isLonger(spanOf(guess + 1, limit, window), span) ? guess : guess + 1;
}

// The Lua inlines the functions below, because a call and its closure would cost the server more.

export function isLonger(one: Span, other: Span): boolean {
  return one.whole > other.whole || (one.whole === other.whole && one.part > other.part);
}

/** Adds two spans whose fractions have the same unit. */
export function plus(one: Span, more: Span, limit: number): Span {
  const part = one.part + more.part;
  const carry = part >= limit ? 1 : 0;
  return { whole: one.whole + more.whole + carry, part: part - carry * limit };
}

/** Adds a span to a backlog, up to `LONGEST`. */
export function extend(backlog: Span, more: Span, limit: number): Span {
  const { whole, part } = plus(backlog, more, limit);
  return within(whole, part);
}

/** Subtracts the span `less` from `one`; `whole` is negative if `less` is longer. */
export function minus(one: Span, less: Span, limit: number): Span {
  const part = one.part - less.part;
  const borrow = part < 0 ? 1 : 0;
  return { whole: one.whole - less.whole - borrow, part: part + borrow * limit };
}

/** Rounds a span up to whole microseconds, so that a wait of that length is always long enough. */
export function roundUp({ whole, part }: Span): number {
  return part > 0 ? whole + 1 : whole;
}
