/**
 * A length of time to a fraction of a microsecond: whole microseconds, and a part counted in
 * 1/limit of a microsecond, so that rates which do not divide evenly (3 per 7 s) never drift.
 */
export interface Span {
  readonly whole: number;
  readonly part: number;
}

/**
 * The span in which `permits` come back at `limit` permits per `window` microseconds:
 * permits x window / limit. Exact while permits x limit <= 2^53.
 */
export function spanOf(permits: number, limit: number, window: number): Span {
  const rest = window % limit;
  if (rest === 0) return { whole: permits * (window / limit), part: 0 };
  const fine = permits * rest;
  return { whole: permits * ((window - rest) / limit) + Math.floor(fine / limit), part: fine % limit };
}

/** How many whole permits come back within a span; 0 for a negative one. */
export function permitsIn(whole: number, part: number, limit: number, window: number): number {
  if (whole < 0) return 0;
  if (window % limit === 0) return Math.floor(whole / (window / limit));
  const guess = Math.floor(((whole + part / limit) * limit) / window);
  if (isLonger(spanOf(guess, limit, window), whole, part)) return guess - 1;
  return isLonger(spanOf(guess + 1, limit, window), whole, part) ? guess : guess + 1;
}

function isLonger(span: Span, whole: number, part: number): boolean {
  return span.whole > whole || (span.whole === whole && span.part > part);
}
